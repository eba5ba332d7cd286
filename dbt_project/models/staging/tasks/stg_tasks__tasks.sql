with

source as (select * from {{ source('raw', 'tasks') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        run_id,

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

)

select * from renamed
