{{ config(materialized=view_of_step()) }}

with

tasks as (select * from {{ ref('int_task_variants') }} where recheck_of is null),
resolved as (select * from {{ ref('int_tasks_resolved') }}),

loaded as (

    select
        tasks.*,
        coalesce(cast(resolved.ingest_id as string), tasks.run_id) as call_id,
        min(tasks.variant) over in_run = max(tasks.variant) over in_run as is_alone_in_run

    from tasks
    inner join resolved using (task_id)
    window in_run as (partition by tasks.title, tasks.run_id)

),

ordered as (

    select
        *,
        lag(variant) over (
            partition by title, call_id order by run_number, task_id
        ) as variant_before

    from loaded

),

-- variants of one call follow each other if one has several runs, and none comes again after
-- another; else those with runs of their own are side by side
calls as (

    select
        title,
        call_id,
        count(distinct variant) > 1
        and (
            count(case when variant is distinct from variant_before then 1 end)
            > count(distinct variant)
            or count(distinct run_id) = count(distinct variant)
        ) as is_side_by_side

    from ordered
    group by title, call_id

),

nights as (

    select

        ---------- ids
        ordered.task_id,

        ---------- numerics
        min(ordered.run_number) over (
            partition by
                ordered.title,
                case
                    when calls.is_side_by_side and ordered.is_alone_in_run
                        then 'call ' || ordered.call_id
                    else 'run ' || ordered.run_id
                end
        ) as night_number,

        ---------- booleans
        ordered.is_alone_in_run and not calls.is_side_by_side as is_alone

    from ordered
    inner join calls using (title, call_id)

)

select * from nights
