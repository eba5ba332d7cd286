{{ config(materialized=view_of_step()) }}

-- Alerts about a task's rounds: too few of them scored, too many in error.
with

task_scores as (select * from {{ ref('int_task_scores') }}),
rounds as (select * from {{ ref('fct_rounds') }} where {{ in_this_build() }}),
scored_rounds as (select * from {{ ref('int_scored_rounds') }}),
policy as (select * from {{ ref('alert_policy') }}),

faulty_rounds as (

    select
        rounds.task_id,
        rounds.case_id,
        'low_coverage' as code

    from rounds
    left join scored_rounds
        on
            rounds.task_id = scored_rounds.task_id
            and rounds.case_id = scored_rounds.case_id
            and rounds.round_id = scored_rounds.round_id
    where scored_rounds.round_id is null

    union all

    select
        task_id,
        case_id,
        'high_error_share' as code

    from rounds
    where status = 'error'

),

counted as (

    select
        task_id,
        code,
        count(*) as n_rounds,
        count(distinct case_id) as n_cases,
        {{ json_list_of('distinct case_id', 'case_id') }} as case_ids

    from faulty_rounds
    group by task_id, code

),

measured as (

    select
        counted.task_id,
        cast(null as string) as dimension_id,
        counted.code,
        case
            when counted.code = 'low_coverage' then task_scores.coverage
            else {{ rounded('cast(counted.n_rounds as double) / task_scores.n_rounds') }}
        end as value,
        policy.threshold as limit_value,
        'share' as unit,
        case
            when counted.code = 'low_coverage' then task_scores.n_scored_rounds
            else counted.n_rounds
        end as n,
        task_scores.n_rounds as n_total,
        cast(null as string) as detail,
        cast(null as string) as detail_en,
        counted.n_cases,
        counted.case_ids

    from counted
    inner join task_scores using (task_id)
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
