{{ config(materialized=view_of_step()) }}

-- One row per round and step before its answer, in order: an output of a pipeline's step, or a message or tool call of
-- an agent, with its time and tokens.
with

pipeline_steps as (select * from {{ ref('promptlab', 'int_steps_of_pipelines') }}),
agent_steps as (select * from {{ ref('promptlab', 'int_steps_of_agents') }}),

steps as (

    select * from pipeline_steps

    union all

    select * from agent_steps

),

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
        cast(row_number() over (
            partition by task_id, case_id, round_id order by part_no, key_no, step_id
        ) as bigint) as step_no,
        latency_ms,
        cast(input_tokens as bigint) as input_tokens,
        cast(output_tokens as bigint) as output_tokens,

        ---------- json
        arguments,
        call

    from steps

)

select * from final
