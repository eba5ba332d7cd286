{{ config(materialized=view_of_step()) }}

-- One row per round that its own tool judged: as pass, fail or unevaluated, or by scores that are all 0 or 1.
with

rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }} where {{ in_this_build() }}),
scores as (select * from {{ ref('promptlab', 'stg_reported__scores') }} where {{ in_this_build() }}),
dimensions as (select * from {{ ref('promptlab', 'stg_tasks__dimension_configs') }} where {{ in_this_build() }}),
primaries as (select * from {{ ref('promptlab', 'int_primary_metrics') }} where {{ in_this_build() }}),

given_by_tool as (

    select
        task_id,
        case_id,
        round_id,
        reported_status as status

    from rounds
    where reported_status in ('pass', 'fail', 'unevaluated')

),

binary_dimensions as (

    select
        scores.task_id,
        scores.dimension_id

    from scores
    inner join dimensions
        on
            scores.task_id = dimensions.task_id
            and scores.dimension_id = dimensions.dimension_id
            and dimensions.is_graded
    left join primaries on scores.task_id = primaries.task_id
    where
        -- a task with a main metric passes or fails by it alone
        scores.dimension_id = coalesce(primaries.primary_metric, scores.dimension_id)
        and scores.reported_value is not null
        and scores.task_id not in (
            select given_by_tool.task_id from given_by_tool where given_by_tool.status <> 'unevaluated'
        )
    group by scores.task_id, scores.dimension_id
    having min(case when scores.reported_value in (0, 1) then 1 else 0 end) = 1

),

scored as (

    select
        scores.task_id,
        scores.case_id,
        scores.round_id,
        case when min(scores.reported_value) = 1 then 'pass' else 'fail' end as status

    from scores
    inner join binary_dimensions using (task_id, dimension_id)
    left join given_by_tool
        on
            scores.task_id = given_by_tool.task_id
            and scores.case_id = given_by_tool.case_id
            and scores.round_id = given_by_tool.round_id
    where
        scores.reported_value is not null
        and given_by_tool.round_id is null
    group by scores.task_id, scores.case_id, scores.round_id

),

judged as (

    select * from given_by_tool

    union all

    select * from scored

)

select * from judged
