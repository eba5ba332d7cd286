-- One row per task whose score is the share of its tool's passes: nothing else scores it, or the config asks for it.
with

titles as (select * from {{ ref('promptlab', 'int_titles') }} where {{ in_this_build() }}),
configs as (select * from {{ ref('promptlab', 'stg_tasks__dimension_configs') }} where {{ in_this_build() }}),
rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }} where {{ in_this_build() }}),
resolved as (select * from {{ ref('promptlab', 'int_tasks_resolved') }} where {{ in_this_build() }}),
scores as (select * from {{ ref('promptlab', 'stg_scores__scores') }} where {{ in_this_build() }}),

scored as (

    select task_id
    from configs
    where coalesce(is_graded, true) and weight > 0

    union

    -- results are scored by their testset, or by a judge
    select task_id
    from resolved
    where source_kind = 'results' and testset_id is not null

    union

    select task_id
    from rounds
    where overall_score is not null

    union

    select task_id
    from scores
    where dimension_id = 'judge'

),

judged as (

    select task_id
    from rounds
    where reported_status in ('pass', 'fail')

)

select titles.task_id
from titles
where
    titles.source_kind <> 'analysis'
    and titles.task_id in (select judged.task_id from judged)
    and (
        titles.task_id not in (select scored.task_id from scored)
        or coalesce(titles.configured_primary = 'passed', false)
    )
