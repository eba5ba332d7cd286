{{ config(materialized='view') }}

-- One row per task and rule of the gate's policy about the whole task, and for `all_rows` per reason:
-- the number that the rule limits, of how many cases or rounds it is, and what is amiss (`names`).
with

trends as (select * from {{ ref('promptlab', 'fct_trends') }} where subject is null),
summaries as (select * from {{ ref('promptlab', 'fct_task_summaries') }}),
dimensions as (select * from {{ ref('promptlab', 'fct_dimension_scores') }}),
alerts as (select * from {{ ref('promptlab', 'fct_alerts') }}),
tasks as (select * from {{ ref('promptlab', 'dim_tasks') }}),

-- an answer that never came has no time and costs nothing
answers as (

    select
        task_id,
        n as n_rounds,
        n - cast(round(value * n) as bigint) as n_answers

    from trends
    where measure = 'error_share'

),

weighted as (

    select
        task_id,
        count(score) as n_scored,
        count(*) as n_dimensions,
        {{ json_list_of('dimension_id', 'dimension_position', 'score is null', 1000) }} as unscored

    from dimensions
    where weight_configured > 0
    group by task_id

),

limited_numbers as (

    select
        trends.task_id,
        case trends.measure
            when 'overall_score' then 'min_score'
            when 'pass_rate' then 'min_pass_rate'
            when 'coverage' then 'min_coverage'
            when 'error_share' then 'max_error_share'
            when 'latency_p50' then 'latency.max_p50_ms'
            when 'latency_p95' then 'latency.max_p95_ms'
            when 'tokens_total' then 'tokens.max_total'
            when 'cost_total' then 'cost.max_total'
            when 'cost_mean' then 'cost.max_per_round'
        end as rule,
        trends.value,
        case when trends.measure = 'overall_score' then weighted.n_scored else trends.n end as n,
        case trends.measure
            when 'overall_score' then weighted.n_dimensions
            when 'pass_rate' then summaries.n_cases
            when 'coverage' then answers.n_rounds
            when 'error_share' then answers.n_rounds
            else greatest(trends.n, answers.n_answers)
        end as n_total,
        case when trends.measure = 'overall_score' then weighted.unscored end as names,
        cast(null as string) as reason

    from trends
    inner join summaries on trends.task_id = summaries.task_id
    left join answers on trends.task_id = answers.task_id
    left join weighted on trends.task_id = weighted.task_id

),

critical_alerts as (

    select
        summaries.task_id,
        'allow_critical_alerts' as rule,
        cast(count(alerts.code) as double) as value,
        count(alerts.code) as n,
        cast(null as bigint) as n_total,
        {{ json_list_of('alerts.code', 'alerts.alert_position', 'alerts.code is not null', 1000) }}
            as names,
        cast(null as string) as reason

    from summaries
    left join alerts
        on summaries.task_id = alerts.task_id and alerts.severity = 'critical'
    group by summaries.task_id

),

missed_targets as (

    select
        summaries.task_id,
        'allow_missed_targets' as rule,
        cast(count(dimensions.dimension_id) as double) as value,
        count(dimensions.dimension_id) as n,
        cast(null as bigint) as n_total,
        {{ json_list_of(
            'dimensions.dimension_id', 'dimensions.dimension_position',
            'dimensions.dimension_id is not null', 1000
        ) }} as names,
        cast(null as string) as reason

    from summaries
    left join dimensions
        on
            summaries.task_id = dimensions.task_id
            and exists (
                select 1
                from alerts
                where
                    alerts.task_id = dimensions.task_id
                    and alerts.code in (
                        'below_min_score', 'above_max_score', 'below_min_target',
                        'above_max_target', 'max_variance_exceeded'
                    )
                    and cast(alerts.dimension_ids as string) = cast(
                        to_json([dimensions.dimension_id]) as string
                    )
            )
    group by summaries.task_id

),

rows_missing as (

    select
        task_id,
        'all_rows' as rule,
        cast(null as double) as value,
        n_rows_held as n,
        n_rows_claimed as n_total,
        cast(null as json) as names,
        case when n_rows_held = 0 then 'totals_only' else 'partial' end as reason

    from tasks
    where is_partial

    union all

    select
        task_id,
        'all_rows' as rule,
        cast(null as double) as value,
        n_cases as n,
        cast(json_extract_string(facts, '$.n_total') as bigint) as n_total,
        cast(null as json) as names,
        case when code = 'rejected_case' then 'rejected' else 'duplicate' end as reason

    from alerts
    where code in ('rejected_case', 'duplicate_round')

),

rules as (

    select * from limited_numbers where rule is not null
    union all
    select * from critical_alerts
    union all
    select * from missed_targets
    union all
    select * from rows_missing

)

select * from rules
