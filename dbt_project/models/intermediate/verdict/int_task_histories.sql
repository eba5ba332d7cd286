{{ config(materialized='table') }}

with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
counted_variants as (select * from {{ ref('promptlab', 'int_counted_variants') }}),
histories as (select * from {{ ref('promptlab', 'int_run_histories') }}),
outages as (select * from {{ ref('promptlab', 'int_known_outages') }}),

own_tasks as (

    select
        variants.task_id,
        histories.history,
        histories.place,
        variants.task_id as counted_task_id,
        variants.run_id as counted_run_id

    from variants
    inner join histories using (title, run_id)
    where histories.place = 0

),

earlier_tasks as (

    select
        variants.task_id,
        histories.history,
        histories.place,
        earlier.task_id as counted_task_id,
        earlier.run_id as counted_run_id

    from variants
    inner join counted_variants using (title, run_id, variant)
    inner join histories using (title, run_id)
    inner join variants as earlier
        on
            histories.title = earlier.title
            and histories.counted_run_id = earlier.run_id
            and counted_variants.counted_variant = earlier.variant
            and counted_variants.until_run_number > earlier.run_number
    left join outages on earlier.task_id = outages.task_id
    where histories.place > 0 and outages.task_id is null

),

final as (

    select * from own_tasks

    union all

    select * from earlier_tasks

)

select * from final
