with

rounds as (select * from {{ ref('promptlab', 'int_verdict_rounds') }}),
correlations as (select * from {{ ref('promptlab', 'int_round_correlations') }}),

joined as (

    select
        rounds.*,
        coalesce(rounds.has_copies or correlations.is_correlated, false) as is_one_round

    from rounds
    left join correlations using (task_id)

),

counted as (

    select

        ---------- ids
        task_id,
        run_task_id,
        case_id,

        ---------- strings
        measure,
        prompt_version,

        ---------- numerics
        place,
        case when is_one_round then least(n_rounds, 1) else n_rounds end as k,
        case
            when not is_one_round then n_passed
            when is_first_passed then 1
            else 0
        end as x,
        n_rounds,
        n_passed,
        n_errors,
        -- rounds that errors took away
        case
            when not is_one_round then n_errors
            when n_rounds = 0 then least(n_errors, 1)
            else 0
        end as n_lost

    from joined

)

select * from counted
