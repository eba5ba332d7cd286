-- One row per memory run that is new or changed since the last build: its answers are scored in this
-- one. Models read it by `in_this_build`.
with

runs as (select * from {{ ref('promptlab', 'stg_memory__runs') }}),
versions as (select * from {{ ref('promptlab', 'int_task_versions') }}),
built as (select * from {{ ref('promptlab', 'stg_builds__task_builds') }}),

new_or_changed as (

    select versions.task_id as run_id

    from versions
    left join built using (task_id, fingerprint)
    where
        built.task_id is null
        and versions.task_id in (select runs.run_id from runs)

)

select * from new_or_changed
