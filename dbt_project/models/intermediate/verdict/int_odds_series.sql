{{ config(materialized='table') }}

-- One row per series of runs that odds are computed over: a run, a history of it, and one of its variants, or
-- all of them (no `task_id`).
with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
to_build as (

    select distinct
        title,
        run_id

    from variants
    where {{ in_this_build('comparisons', 'task_id') }}

),
histories as (select * from {{ ref('promptlab', 'int_run_histories') }}),

runs as (

    select
        title,
        run_id,
        history,
        max(runs_ago) as n_earlier

    from histories
    inner join to_build using (title, run_id)
    group by title, run_id, history

),

of_variants as (

    select
        runs.*,
        variants.task_id,
        count(*) over (partition by runs.title, runs.run_id, runs.history) as n_variants

    from runs
    inner join variants on runs.title = variants.title and runs.run_id = variants.run_id

),

together as (

    select distinct
        title,
        run_id,
        history,
        n_earlier,
        cast(null as string) as task_id,
        n_variants

    from of_variants
    where n_variants > 1

),

stacked as (

    select
        title,
        run_id,
        history,
        n_earlier,
        task_id,
        n_variants

    from of_variants

    union all

    select * from together

),

numbered as (

    select

        ---------- ids
        row_number() over (order by title, run_id, history, task_id nulls last) as series_id,
        run_id,
        task_id,

        ---------- strings
        title,
        history,

        ---------- numerics
        n_earlier,
        n_variants

    from stacked

)

select * from numbered
