-- One row per round and scope that its testset expects something of (a step, the aggregation, the final
-- output): whether all its checks hold.
with

checks as (select * from {{ ref('promptlab', 'int_check_results') }} where {{ in_this_build() }}),

counted as (

    select
        task_id,
        case_id,
        round_id,
        scope,
        step_id,
        -- fields of the final output may come from it and from step outputs
        coalesce(min(actual_source) filter (where actual_source <> 'step_outputs'), '')
            as first_source,
        bool_or(actual_source = 'step_outputs') as has_step_outputs,
        count(*) as checks_total,
        count(*) filter (where status = 'fail') as checks_failed,
        count(*) filter (where status = 'unevaluated') as checks_unevaluated

    from checks
    group by task_id, case_id, round_id, scope, step_id

),

matched as (

    select

        ---------- ids
        task_id,
        case_id,
        round_id,
        scope,
        step_id,

        ---------- strings
        case
            when checks_failed > 0 then 'fail'
            when checks_unevaluated > 0 then 'unevaluated'
            else 'pass'
        end as status,
        case
            when first_source = '' and has_step_outputs then 'step_outputs'
            when has_step_outputs then first_source || '+step_outputs'
            when first_source <> '' then first_source
        end as actual_source,

        ---------- numerics
        checks_total,
        checks_failed,
        checks_unevaluated,

        ---------- booleans
        case
            when checks_failed > 0 then false
            when checks_unevaluated = 0 then true
        end as matched

    from counted

)

select * from matched
