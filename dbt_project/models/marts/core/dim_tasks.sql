{{ config(materialized='table') }}

-- One row per task: one variant in one run.
with

tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
resolved as (select * from {{ ref('promptlab', 'int_tasks_resolved') }}),
variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),
titles as (select * from {{ ref('promptlab', 'int_titles') }}),
partial as (select * from {{ ref('promptlab', 'int_partial_tasks') }}),
contents as (select * from {{ ref('promptlab', 'int_task_contents') }}),
primaries as (select * from {{ ref('promptlab', 'int_primary_metrics') }}),

final as (

    select

        ---------- ids
        tasks.task_id,
        tasks.load_id,
        variants.run_id,
        resolved.testset_id,
        resolved.pipeline_id,
        variants.prompt_hash,
        contents.settings_hash,
        contents.judge_hash,
        contents.expectation_hash,
        tasks.recheck_of,

        ---------- strings
        tasks.source_kind,
        variants.title,
        tasks.title as given_title,
        variants.variant,
        tasks.prompt_version,
        tasks.prompt_name,
        tasks.model,
        tasks.provider,
        case when tasks.recheck_of is null then 'full' else 'recheck' end as role,
        tasks.triggered_by,
        tasks.tool_version,
        tasks.run_name,
        tasks.branch,
        tasks.base_branch,
        tasks.commit_sha,
        resolved.testset_source,
        primaries.primary_metric,
        coalesce(titles.configured_owner, json_extract_string(tasks.env, '$.owner')) as owner,

        ---------- numerics
        variants.run_number,
        partial.n_rows_claimed,
        partial.n_rows_held,

        ---------- booleans
        partial.n_rows_held is not null as is_partial,
        variants.is_base_branch,

        ---------- timestamps
        tasks.created_at,

        ---------- json
        tasks.env,
        tasks.settings,
        tasks.judge,
        tasks.extras

    from tasks
    inner join resolved using (task_id)
    inner join variants using (task_id)
    inner join titles using (task_id)
    left join contents using (task_id)
    left join primaries using (task_id)
    left join partial using (task_id)

)

select * from final
