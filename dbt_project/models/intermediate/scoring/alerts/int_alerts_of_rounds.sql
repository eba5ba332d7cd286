{{ config(materialized=view_of_step()) }}

-- One row per task and alert (`code`) about its rounds: too few of them scored, too many in error.
with

results as (select * from {{ ref('promptlab', 'int_task_results') }}),
case_results as (select * from {{ ref('promptlab', 'int_case_results') }} where {{ in_this_build() }}),
tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }} where {{ in_this_build() }}),
policy as (select * from {{ ref('promptlab', 'promptlab_alert_policy') }}),

-- other tools do not score a round in error: that is not a missing score
cases as (

    select
        case_results.task_id,
        case_results.case_id,
        case_results.n_rounds_in_error,
        case_results.n_rounds_scored,
        case_results.n_rounds
        - case
            when tasks.source_kind in ('analysis', 'results') then 0
            else case_results.n_rounds_unanswered
        end as n_rounds_to_score

    from case_results
    inner join tasks using (task_id)

),

faulty_cases as (

    select
        task_id,
        case_id,
        'low_coverage' as code,
        n_rounds_to_score - n_rounds_scored as n_rounds

    from cases
    where n_rounds_scored < n_rounds_to_score

    union all

    select
        task_id,
        case_id,
        'high_error_share' as code,
        n_rounds_in_error as n_rounds

    from cases
    where n_rounds_in_error > 0

),

counted as (

    select
        task_id,
        code,
        cast(sum(n_rounds) as bigint) as n_rounds,
        count(*) as n_cases,
        {{ json_list_of('case_id', 'case_id') }} as case_ids

    from faulty_cases
    group by task_id, code

),

to_score as (

    select
        task_id,
        cast(sum(n_rounds_to_score) as bigint) as n_rounds

    from cases
    group by task_id

),

measured as (

    select
        counted.task_id,
        cast(null as string) as dimension_id,
        counted.code,
        case
            when counted.code = 'low_coverage'
                then round(cast(results.n_scored_rounds as double) / to_score.n_rounds, 6)
            else round(cast(counted.n_rounds as double) / results.n_rounds, 6)
        end as value,
        policy.threshold as limit_value,
        'share' as unit,
        case
            when counted.code = 'low_coverage' then results.n_scored_rounds
            else counted.n_rounds
        end as n,
        case when counted.code = 'low_coverage' then to_score.n_rounds else results.n_rounds end
            as n_total,
        cast(null as string) as reason,
        cast(null as string) as detail,
        counted.n_cases,
        counted.case_ids

    from counted
    inner join results using (task_id)
    inner join to_score using (task_id)
    inner join policy using (code)

),

alerts as (

    select * from measured
    where
        case
            when code = 'low_coverage' then value < limit_value
            else value > limit_value
        end

)

select * from alerts
