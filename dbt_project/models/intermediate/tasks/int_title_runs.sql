{{ config(materialized=view_of_step()) }}

-- One row per title and run: whether it is a run of the base branch and no outage (`is_base_run`), and the
-- last such run before it.
with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
outages as (select * from {{ ref('promptlab', 'int_known_outages') }}),

runs as (

    select
        title,
        run_id,
        run_number,
        count(*) as n_variants,
        coalesce(bool_and(case when outages.task_id is null then is_base_branch end), false)
            as is_base_run

    from variants
    left join outages using (task_id)
    group by title, run_id, run_number

),

numbered as (

    select
        *,
        max(case when is_base_run then run_number end) over (
            partition by title
            order by run_number rows between unbounded preceding and 1 preceding
        ) as previous_run_number

    from runs

),

preceded as (

    select
        numbered.*,
        earlier.run_id as previous_run_id

    from numbered
    left join runs as earlier
        on
            numbered.title = earlier.title
            and numbered.previous_run_number = earlier.run_number

)

select * from preceded
