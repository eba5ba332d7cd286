{{ config(materialized='table') }}

with

tasks as (select * from {{ ref('stg_tasks__tasks') }}),
resolved as (select * from {{ ref('int_tasks_resolved') }}),
partial as (select * from {{ ref('int_partial_tasks') }}),

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

        ---------- numerics
        partial.n_rows_claimed,
        partial.n_rows_held,

        ---------- booleans
        partial.n_rows_held is not null as is_partial,

        ---------- timestamps
        tasks.created_at,

        ---------- json
        tasks.env,
        tasks.extras

    from tasks
    inner join resolved using (task_id)
    left join partial using (task_id)

)

select * from final
