with

contents as (select * from {{ ref('promptlab', 'int_drift_contents') }}),
case_rounds as (
    select * from {{ ref('promptlab', 'int_case_rounds') }}
    where task_id in (select contents.run_task_id from contents)
),
case_results as (
    select * from {{ ref('promptlab', 'int_case_results') }}
    where task_id in (select contents.run_task_id from contents)
),
correlations as (select * from {{ ref('promptlab', 'int_round_correlations') }}),

joined as (

    select
        contents.*,
        case_rounds.n_rounds,
        case_rounds.n_passed,
        case_rounds.is_first_passed,
        coalesce(case_rounds.has_copies or correlations.is_correlated, false) as is_one_round,
        case_results.aggregated_score

    from contents
    left join case_rounds
        on
            contents.run_task_id = case_rounds.task_id
            and contents.case_id = case_rounds.case_id
    left join case_results
        on
            contents.run_task_id = case_results.task_id
            and contents.case_id = case_results.case_id
    left join correlations on contents.task_id = correlations.task_id

),

measured as (

    select
        *,
        'pass_rate' as measure,
        case when is_one_round then 1 else n_rounds end as k,
        case
            when not is_one_round then n_passed
            when is_first_passed then 1
            else 0
        end as x,
        case
            when not is_one_round then n_passed / cast(n_rounds as double)
            when is_first_passed then 1e0
            else 0e0
        end as value

    from joined
    where n_rounds > 0

    union all

    select
        *,
        'overall_score' as measure,
        cast(null as bigint) as k,
        cast(null as bigint) as x,
        aggregated_score as value

    from joined
    where aggregated_score is not null

),

-- a case that some run lacks would move its value
complete as (

    select
        task_id,
        measure,
        case_id

    from measured
    group by task_id, measure, case_id
    having count(*) = max(n_runs)

),

cases as (

    select

        ---------- ids
        measured.task_id,
        measured.run_task_id,
        measured.case_id,

        ---------- strings
        measured.measure,

        ---------- numerics
        measured.run_number,
        measured.n_runs,
        measured.k,
        measured.x,
        measured.value

    from measured
    inner join complete using (task_id, measure, case_id)

)

select * from cases
