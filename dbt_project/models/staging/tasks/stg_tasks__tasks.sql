-- One row per task: one variant in one run. A memory run is one task, whose id is `run_id` in models of memory; what
-- its files call a task is a conversation, their `task_id`.
with

source as (select * from {{ ref('promptlab', 'live_tasks') }}),
memory_runs as (select * from {{ source('raw', 'memory_runs') }} where {{ is_live() }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        run_id,
        recheck_of,

        ---------- strings
        source_kind,
        title,
        variant,
        prompt_version,
        prompt_name,
        model,
        coalesce(provider, model) as provider,
        triggered_by,
        testset_ref,
        pipeline_ref,
        tool_version,
        branch,
        base_branch,
        commit_sha,
        run_name,

        ---------- numerics
        prompt_position,

        ---------- timestamps
        created_at,

        ---------- json
        env,
        settings,
        judge,
        extras

    from source

),

-- a memory run is a file for each of its conversations
of_memory as (

    select

        ---------- ids
        max(load_id) as load_id,
        run_id as task_id,
        concat_ws('/', max(dataset), max(run_timestamp)) as run_id,
        cast(null as string) as recheck_of,

        ---------- strings
        'memory' as source_kind,
        coalesce(max(title), max(dataset)) as title,
        coalesce(max(variant), max(memory_system), 'unknown') as variant,
        'unknown' as prompt_version,
        cast(null as string) as prompt_name,
        coalesce(max(memory_system), 'unknown') as model,
        coalesce(max(memory_system), 'unknown') as provider,
        'unknown' as triggered_by,
        cast(null as string) as testset_ref,
        cast(null as string) as pipeline_ref,
        cast(null as string) as tool_version,
        max(branch) as branch,
        max(base_branch) as base_branch,
        max(commit_sha) as commit_sha,
        max(run_name) as run_name,

        ---------- numerics
        cast(null as bigint) as prompt_position,

        ---------- timestamps
        min(created_at) as created_at,

        ---------- json
        cast('{}' as json) as env,
        cast(null as json) as settings,
        cast(null as json) as judge,
        cast('{}' as json) as extras

    from memory_runs
    group by run_id

),

tasks as (

    select * from renamed

    union all

    select of_memory.*
    from of_memory
    where of_memory.task_id not in (select renamed.task_id from renamed)

)

select * from tasks
