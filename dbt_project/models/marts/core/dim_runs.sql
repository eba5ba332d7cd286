{{ config(materialized='view') }}

-- One row per run, of one or more tasks: one for each of its titles and variants.
with

tasks as (select * from {{ ref('promptlab', 'dim_tasks') }} where recheck_of is null),

final as (

    select

        ---------- ids
        run_id,

        ---------- strings
        min(source_kind) as source_kind,
        max(run_name) as run_name,
        max(tool_version) as tool_version,
        max(branch) as branch,
        max(base_branch) as base_branch,
        max(commit_sha) as commit_sha,

        ---------- numerics
        count(*) as n_tasks,
        count(distinct title) as n_titles,

        ---------- booleans
        bool_and(is_base_branch) as is_base_branch,

        ---------- timestamps
        min(created_at) as created_at

    from tasks
    group by run_id

)

select * from final
