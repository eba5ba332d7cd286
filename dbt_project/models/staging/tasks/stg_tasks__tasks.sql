with

source as (select * from {{ source('raw', 'tasks') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,

        ---------- strings
        source_kind,
        title,
        prompt_version,
        model,
        triggered_by,
        testset_ref,
        pipeline_ref,
        run_id,
        tool_version,

        ---------- timestamps
        created_at,

        ---------- json
        env,
        extras

    from source

)

select * from renamed
