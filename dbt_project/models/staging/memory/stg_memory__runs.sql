-- One row per memory run and conversation of it (`task_id`), which is a file.
with

source as (select * from {{ source('raw', 'memory_runs') }} where {{ is_live() }}),

renamed as (

    select

        ---------- ids
        load_id,
        run_id,
        task_id,

        ---------- strings
        dataset,
        run_timestamp,
        memory_system,
        test_threshold,
        title,
        variant,
        run_name,
        branch,
        base_branch,
        commit_sha,

        ---------- numerics
        total_sessions,
        total_dialogs,
        total_messages,
        total_questions,
        valid_questions,
        total_tests,
        test_segments,

        ---------- timestamps
        started_at,
        created_at,

        ---------- json
        extras

    from source

)

select * from renamed
