{{ config(alias='tasks', materialized='table') }}

-- One row per task that is live: of a run in several files the newest file counts, with the time of the earliest.
with

loaded as (select * from {{ source('raw', 'tasks') }} where {{ is_live(of='task') }}),

-- a run in several files begins with the first of them, and any of them names its testset
runs as (

    select
        task_id,
        max(load_id) as load_id,
        min(created_at) as created_at,
        max_by(testset_ref, case when testset_ref is not null then load_id end) as testset_ref

    from loaded
    group by task_id

),

tasks as (

    select
        loaded.load_id,
        loaded.task_id,
        loaded.source_kind,
        loaded.title,
        loaded.prompt_version,
        loaded.model,
        loaded.triggered_by,
        loaded.env,
        runs.created_at,
        loaded.extras,
        runs.testset_ref,
        loaded.pipeline_ref,
        loaded.run_id,
        loaded.tool_version,
        loaded.provider,
        loaded.prompt_name,
        loaded.prompt_position,
        loaded.variant,
        loaded.settings,
        loaded.judge,
        loaded.run_name,
        loaded.branch,
        loaded.base_branch,
        loaded.commit_sha,
        loaded.revision_source,
        loaded.recheck_of

    from loaded
    inner join runs using (task_id, load_id)

)

select * from tasks
