{{ config(materialized=view_of_step()) }}

with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
outages as (select * from {{ ref('promptlab', 'int_known_outages') }}),
histories as (select * from {{ ref('promptlab', 'int_run_histories') }} where history = 'base'),

runs as (

    select
        title,
        run_id,
        run_number,
        coalesce(bool_and(case when outages.task_id is null then is_base_branch end), false)
            as is_history

    from variants
    left join outages using (task_id)
    group by title, run_id, run_number

),

shared as (

    select
        title,
        run_id,
        counted_run_id

    from histories
    where place = 1

),

numbered as (

    select
        *,
        max(case when is_history then run_number end) over (
            partition by title
            order by run_number rows between unbounded preceding and 1 preceding
        ) as previous_run_number

    from runs

),

last_runs as (

    select
        numbered.title,
        numbered.run_id,
        coalesce(shared.counted_run_id, earlier.run_id) as last_run_id,
        shared.counted_run_id is not null as has_shared_variant

    from numbered
    left join shared using (title, run_id)
    left join runs as earlier
        on
            numbered.title = earlier.title
            and numbered.previous_run_number = earlier.run_number

)

select * from last_runs
