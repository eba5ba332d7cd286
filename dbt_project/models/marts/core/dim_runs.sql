{{ config(materialized='table') }}

with

tasks as (select * from {{ ref('stg_tasks__tasks') }}),
variants as (select * from {{ ref('int_task_variants') }}),

final as (

    select

        ---------- ids
        variants.run_id,

        ---------- strings
        min(tasks.source_kind) as source_kind,
        max(tasks.run_name) as run_name,
        max(tasks.tool_version) as tool_version,
        max(tasks.branch) as branch,
        max(tasks.base_branch) as base_branch,
        max(tasks.commit_sha) as commit_sha,

        ---------- numerics
        count(*) as n_tasks,
        count(distinct variants.title) as n_titles,

        ---------- booleans
        bool_and(variants.is_base_branch) as is_base_branch,

        ---------- timestamps
        min(variants.created_at) as created_at

    from variants
    inner join tasks using (task_id)
    group by variants.run_id

)

select * from final
