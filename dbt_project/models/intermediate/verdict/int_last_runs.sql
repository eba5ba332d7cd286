-- One row per title and run: the last run before it (`last_run_id`), by which int_missing_variants
-- tells what is missing: that of its own variants on the base branch, else the last one of that branch.
with

runs as (select * from {{ ref('promptlab', 'int_title_runs') }}),
histories as (select * from {{ ref('promptlab', 'int_run_histories') }} where history = 'base'),

shared as (

    select
        title,
        run_id,
        history_run_id

    from histories
    where runs_ago = 1

),

last_runs as (

    select
        runs.title,
        runs.run_id,
        coalesce(shared.history_run_id, runs.previous_run_id) as last_run_id,
        shared.history_run_id is not null as has_shared_variant

    from runs
    left join shared using (title, run_id)

)

select * from last_runs
