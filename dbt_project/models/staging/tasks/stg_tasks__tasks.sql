with

source as (select * from {{ source('raw', 'tasks') }}),
loads as (select * from {{ source('raw', 'loads') }}),

-- what the call said of its files wins over what the files say
renamed as (

    select

        ---------- ids
        source.load_id,
        source.task_id,
        source.run_id,

        ---------- strings
        source.source_kind,
        coalesce(loads.given_title, source.title) as title,
        coalesce(loads.given_variant, source.variant) as variant,
        source.prompt_version,
        source.prompt_name,
        source.model,
        coalesce(source.provider, source.model) as provider,
        source.triggered_by,
        source.testset_ref,
        source.pipeline_ref,
        source.tool_version,
        source.primary_metric,
        coalesce(loads.branch, source.branch) as branch,
        loads.base_branch,
        coalesce(loads.commit_sha, source.commit_sha) as commit_sha,
        loads.run_name,

        ---------- numerics
        source.prompt_position,

        ---------- timestamps
        coalesce(loads.given_time, source.created_at) as created_at,

        ---------- json
        source.env,
        source.settings,
        source.judge,
        source.extras

    from source
    left join loads on source.load_id = loads.load_id

)

select * from renamed
