{{ config(materialized='table') }}

with

tasks as (select * from {{ ref('stg_tasks__tasks') }}),
resolved as (select * from {{ ref('int_tasks_resolved') }}),

final as (

    select

        ---------- ids
        tasks.task_id,
        tasks.load_id,
        resolved.testset_id,
        resolved.pipeline_id,

        ---------- strings
        tasks.source_kind,
        tasks.title,
        tasks.prompt_version,
        tasks.model,
        tasks.triggered_by,
        resolved.testset_source,

        ---------- timestamps
        tasks.created_at,

        ---------- json
        tasks.env,
        tasks.extras

    from tasks
    inner join resolved using (task_id)

)

select * from final
