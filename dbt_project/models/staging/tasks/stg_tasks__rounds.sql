with

source as (select * from {{ source('raw', 'rounds') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,
        round_id,

        ---------- strings
        raw_output,
        error,
        judge_feedback,
        reported_status,
        counted_as,

        ---------- numerics
        position as round_position,
        run_index,
        input_tokens,
        output_tokens,
        latency_ms,
        overall_score,

        ---------- booleans
        reported_must_have_pass,
        is_cached,

        ---------- timestamps
        executed_at,

        ---------- json
        parsed_output,
        metadata,
        final_output,
        step_outputs,
        failed_steps,
        rule_violations

    from source

)

select * from renamed
