-- One row per round and step before its answer.
with

steps as (select * from {{ ref('promptlab', 'int_round_steps') }}),

final as (

    select

        ---------- ids
        task_id,
        case_id,
        round_id,
        step_id,

        ---------- strings
        role,
        tool,
        result,
        error,

        ---------- numerics
        step_no,
        latency_ms,
        input_tokens,
        output_tokens,

        ---------- json
        arguments

    from steps

)

select * from final
