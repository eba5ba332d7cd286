{{ config(materialized='table') }}

-- One row per task, history (`base` or `branch`) and task whose rounds count for it: itself, and earlier ones.
with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
variant_histories as (select * from {{ ref('promptlab', 'int_variant_histories') }}),
histories as (select * from {{ ref('promptlab', 'int_run_histories') }}),
outages as (select * from {{ ref('promptlab', 'int_known_outages') }}),

own_tasks as (

    select
        variants.task_id,
        histories.history,
        histories.runs_ago,
        variants.task_id as history_task_id,
        variants.run_id as history_run_id

    from variants
    inner join histories using (title, run_id)
    where histories.runs_ago = 0

),

earlier_tasks as (

    select
        variants.task_id,
        histories.history,
        histories.runs_ago,
        earlier.task_id as history_task_id,
        earlier.run_id as history_run_id

    from variants
    inner join variant_histories using (title, run_id, variant)
    inner join histories using (title, run_id)
    inner join variants as earlier
        on
            histories.title = earlier.title
            and histories.history_run_id = earlier.run_id
            and variant_histories.history_variant = earlier.variant
            and variant_histories.until_run_number > earlier.run_number
    left join outages on earlier.task_id = outages.task_id
    where histories.runs_ago > 0 and outages.task_id is null

),

final as (

    select * from own_tasks

    union all

    select * from earlier_tasks

)

select * from final
