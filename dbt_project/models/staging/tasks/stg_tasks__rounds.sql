-- One row per round: one answer of the system under test to one case, as its file has it.
with

source as (select * from {{ ref('promptlab', 'live_rounds') }}),
memory_questions as (select * from {{ ref('promptlab', 'stg_memory__questions') }}),

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
        rule_violations,
        steps

    from source

),

of_memory as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,
        case_id || '-1' as round_id,

        ---------- strings
        predicted_answer as raw_output,
        error,
        cast(null as string) as judge_feedback,
        cast(null as string) as reported_status,

        ---------- numerics
        cast(0 as bigint) as round_position,
        cast(1 as bigint) as run_index,
        cast(null as bigint) as input_tokens,
        cast(null as bigint) as output_tokens,
        cast(null as double) as latency_ms,
        cast(null as double) as overall_score,

        ---------- booleans
        cast(null as boolean) as reported_must_have_pass,
        cast(null as boolean) as is_cached,

        ---------- timestamps
        cast(null as timestamp) as executed_at,

        ---------- json
        cast(null as json) as parsed_output,
        cast('{}' as json) as metadata,
        cast(null as json) as final_output,
        cast(null as json) as step_outputs,
        cast(null as json) as failed_steps,
        cast(null as json) as rule_violations,
        cast(null as json) as steps

    from memory_questions

),

rounds as (

    select * from renamed

    union all

    select * from of_memory

)

select * from rounds
