-- One row per task to compute in this build (with its fingerprint) and per task whose old rows are deleted (without):
-- a changed task has both. Models read it by `in_this_build`, never by ref.
with

versions as (select * from {{ ref('promptlab', 'int_task_versions') }}),
built as (select * from {{ ref('promptlab', 'stg_builds__task_builds') }}),

new_or_changed as (

    select
        versions.task_id,
        versions.title,
        versions.fingerprint

    from versions
    left join built using (task_id, fingerprint)
    where built.task_id is null

),

gone_or_changed as (

    select
        built.task_id,
        built.title,
        cast(null as string) as fingerprint

    from built
    left join versions using (task_id, fingerprint)
    where versions.task_id is null

),

to_build as (

    select * from new_or_changed

    union all

    select * from gone_or_changed

)

select * from to_build
