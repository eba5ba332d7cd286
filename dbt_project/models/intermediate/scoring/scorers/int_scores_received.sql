-- One row per score that no model int_*_scored computes: from files of scores, from tools, and of answers of
-- memory runs.
with

scores as (select * from {{ ref('promptlab', 'stg_scores__scores') }} where {{ in_this_build() }}),
reported as (select * from {{ ref('promptlab', 'stg_reported__scores') }} where {{ in_this_build() }}),
dimensions as (
    select * from {{ ref('promptlab', 'stg_tasks__dimension_configs') }}
    where {{ in_this_build() }} and is_graded
),
rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }} where {{ in_this_build() }}),
verdict_only as (select * from {{ ref('promptlab', 'int_verdict_only_tasks') }}),
defaults as (select * from {{ ref('promptlab', 'promptlab_default_dimensions') }}),
memory_answers as (
    select * from {{ ref('promptlab', 'int_memory_answers_scored') }}
    where {{ in_this_build(column='run_id') }} and is_last_round
),
tasks as (
    select * from {{ ref('promptlab', 'int_tasks_resolved') }}
    where {{ in_this_build() }} and source_kind = 'memory'
),

received as (

    select
        load_id,
        task_id,
        case_id,
        round_id,
        dimension_id,
        scorer,
        scorer_version,
        line_number,
        score,
        scale,
        summary,
        payload

    from scores

    union all

    -- what a tool gave on a dimension that can be graded
    select
        reported.load_id,
        reported.task_id,
        reported.case_id,
        reported.round_id,
        reported.dimension_id,
        'reported' as scorer,
        cast(null as string) as scorer_version,
        cast(0 as bigint) as line_number,
        reported.score,
        cast(1 as double) as scale,
        reported.summary,
        reported.payload

    from reported
    inner join dimensions using (task_id, dimension_id)

    union all

    -- pass or fail of a tool that gives only that
    select
        rounds.load_id,
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        defaults.dimension_id,
        'reported' as scorer,
        cast(null as string) as scorer_version,
        cast(0 as bigint) as line_number,
        case when rounds.reported_status = 'pass' then 1.0 else 0.0 end as score,
        cast(1 as double) as scale,
        cast(null as string) as summary,
        cast('{}' as json) as payload

    from rounds
    inner join verdict_only using (task_id)
    cross join defaults
    where defaults.needs = 'verdict' and rounds.reported_status in ('pass', 'fail')

    union all

    -- metrics of the answers of a memory run, in the last round
    select
        memory_answers.load_id,
        memory_answers.run_id as task_id,
        memory_answers.case_id,
        memory_answers.case_id || '-1' as round_id,
        metrics.metric as dimension_id,
        'memory' as scorer,
        cast(null as string) as scorer_version,
        cast(0 as bigint) as line_number,
        {{ by_memory_metric(
            'metrics.metric',
            'case when not ({counts}) then null when is_failed then 0e0 else {metric} end'
        ) }} as score,
        cast(1 as double) as scale,
        cast(null as string) as summary,
        cast('{}' as json) as payload

    from memory_answers
    inner join tasks on memory_answers.run_id = tasks.task_id
    cross join {{ memory_metric_rows() }} as metrics
    where memory_answers.is_chinese_run or metrics.metric not in {{ chinese_metrics() }}

)

select * from received
