{{ config(materialized='table') }}

with

series as (select * from {{ ref('promptlab', 'int_odds_series') }}),
histories as (select * from {{ ref('promptlab', 'int_run_histories') }}),
variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
outages as (select * from {{ ref('promptlab', 'int_known_outages') }}),
rechecks as (select * from {{ ref('promptlab', 'int_rechecks') }}),

counted_tasks as (

    select
        series.series_id,
        histories.place,
        variants.task_id

    from series
    inner join histories using (title, run_id, history)
    inner join variants
        on
            histories.title = variants.title
            and histories.counted_run_id = variants.run_id
            and series.lineage = variants.lineage
    left join outages on variants.task_id = outages.task_id
    where histories.place = 0 or outages.task_id is null

),

-- the rounds of a re-check are rounds of the run that it repeats
final as (

    select
        *,
        false as is_recheck

    from counted_tasks

    union all

    select
        counted_tasks.series_id,
        counted_tasks.place,
        rechecks.recheck_task_id as task_id,
        true as is_recheck

    from counted_tasks
    inner join rechecks using (task_id)

)

select * from final
