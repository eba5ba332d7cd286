{{ config(materialized=view_of_step()) }}

-- One row per task and dimension that it is scored on: those of its file, or defaults.
with

configs as (select * from {{ ref('promptlab', 'stg_tasks__dimension_configs') }} where {{ in_this_build() }}),
tasks as (select * from {{ ref('promptlab', 'int_tasks_resolved') }} where {{ in_this_build() }}),
rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }} where {{ in_this_build() }}),
scores as (select * from {{ ref('promptlab', 'stg_scores__scores') }} where {{ in_this_build() }}),
defaults as (select * from {{ ref('promptlab', 'promptlab_default_dimensions') }}),
verdict_only as (select * from {{ ref('promptlab', 'int_verdict_only_tasks') }}),
right_metrics as (
    select * from {{ ref('promptlab', 'int_memory_right_metrics') }}
    where {{ in_this_build(column='run_id') }}
),
primaries as (
    select * from {{ ref('promptlab', 'int_primary_metrics') }} where is_configured and {{ in_this_build() }}
),

judged_tasks as (

    select task_id
    from rounds
    where overall_score is not null

    union

    select task_id
    from scores
    where dimension_id = 'judge'

),

declared as (

    select
        configs.task_id,
        configs.dimension_id,
        configs.name,
        configs.scoring_mode,
        configs.dimension_position,
        -- the dimension that the config names is the whole score
        case
            when primaries.task_id is null then configs.weight
            when configs.dimension_id = primaries.primary_metric then 1e0
            else 0e0
        end as weight,
        false as is_default,
        configs.target,
        configs.parameters

    from configs
    left join primaries using (task_id)
    -- a value on an unknown scale is kept as the tool wrote it, and never graded
    where coalesce(configs.is_graded, true)

),

by_default as (

    select
        tasks.task_id,
        defaults.dimension_id,
        defaults.name,
        defaults.scoring_mode,
        defaults.dimension_position,
        defaults.weight,
        true as is_default,
        cast('{}' as json) as target,
        case
            when defaults.needs = 'verdict' then cast('{"scorer":"reported"}' as json)
            else cast('{}' as json)
        end as parameters

    from tasks
    cross join defaults
    left join verdict_only using (task_id)
    where
        case
            when defaults.needs = 'verdict' then verdict_only.task_id is not null
            when
                tasks.source_kind <> 'results'
                or tasks.task_id in (select configs.task_id from configs)
                then false
            when defaults.needs = 'testset' then tasks.testset_id is not null
            when defaults.needs = 'score'
                then tasks.task_id in (select judged_tasks.task_id from judged_tasks)
            else true
        end

    union all

    -- a metric is the score; the threshold of the one that says what is right is the pass rule
    select
        tasks.task_id,
        metrics.metric as dimension_id,
        metrics.metric as name,
        'higher_better' as scoring_mode,
        cast(metrics.place as bigint) as dimension_position,
        case when metrics.metric = right_metrics.score_metric then 1.0 else 0.0 end as weight,
        true as is_default,
        cast('{}' as json) as target,
        case
            when metrics.metric = right_metrics.right_metric
                then json_object('scorer', 'memory', 'pass_score', right_metrics.right_threshold)
            else cast('{"scorer":"memory"}' as json)
        end as parameters

    from tasks
    inner join right_metrics on tasks.task_id = right_metrics.run_id
    cross join {{ memory_metric_rows() }} as metrics
    where
        tasks.source_kind = 'memory'
        and (right_metrics.is_chinese_run or metrics.metric not in {{ chinese_metrics() }})

),

configured as (

    select * from declared

    union all

    select * from by_default

)

select
    *,
    coalesce(nullif(trim(json_extract_string(parameters, '$.scorer')), ''), dimension_id) as scorer
from configured
