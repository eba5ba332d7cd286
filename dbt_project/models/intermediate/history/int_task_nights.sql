{{ config(materialized=view_of_step()) }}

with

tasks as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
resolved as (select * from {{ ref('promptlab', 'int_tasks_resolved') }}),

loaded as (

    select
        tasks.*,
        coalesce(cast(resolved.ingest_id as string), tasks.run_id) as call_id,
        min(tasks.variant) over in_run = max(tasks.variant) over in_run as is_alone_in_run

    from tasks
    inner join resolved using (task_id)
    window in_run as (partition by tasks.title, tasks.run_id)

),

variants as (

    select
        title,
        call_id,
        variant,
        min(run_number) as first_run,
        max(run_number) as last_run,
        count(distinct run_id) as n_runs

    from loaded
    group by title, call_id, variant

),

-- a variant follows the others of its call if it begins after all of them have ended; not where
-- each has one run
ordered as (

    select
        *,
        coalesce(
            first_run > max(last_run) over before_it
            and max(n_runs) over (partition by title, call_id) > 1,
            false
        ) as is_after_others

    from variants
    window
        before_it as (
            partition by title, call_id
            order by first_run, variant rows between unbounded preceding and 1 preceding
        )

),

-- the others are side by side
placed as (

    select
        *,
        sum(case when is_after_others then 1 else 0 end) over (
            partition by title, call_id order by first_run, variant
        ) as place

    from ordered

),

groups as (

    select
        *,
        count(*) over (partition by title, call_id, place) > 1 as has_several

    from placed

),

nights as (

    select

        ---------- ids
        loaded.task_id,

        ---------- numerics
        min(loaded.run_number) over (
            partition by
                loaded.title,
                case
                    when groups.has_several and loaded.is_alone_in_run
                        then concat_ws('/', 'call', loaded.call_id, cast(groups.place as string))
                    else concat_ws('/', 'run', loaded.run_id)
                end
        ) as night_number,

        ---------- booleans
        loaded.is_alone_in_run and not groups.has_several as is_alone

    from loaded
    inner join groups using (title, call_id, variant)

)

select * from nights
