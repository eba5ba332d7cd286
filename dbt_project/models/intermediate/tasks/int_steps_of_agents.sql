{{ config(materialized=view_of_step()) }}

-- One row per round and message or tool call of an agent, in the order of its file (`key_no`). A tool that is called
-- again has `#2` and so on in its step id.
with

rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }} where {{ in_this_build() }}),

messages as (

    select
        task_id,
        case_id,
        round_id,
        unnest(json_extract(steps, '$[*]')) as step,
        unnest(range(cast(json_array_length(steps) as bigint))) as key_no

    from rounds
    where steps is not null

),

numbered_calls as (

    select
        *,
        json_extract_string(step, '$.tool') as tool,
        row_number() over (
            partition by task_id, case_id, round_id, json_extract_string(step, '$.tool')
            order by key_no
        ) as call_no

    from messages

),

agent_steps as (

    select
        task_id,
        case_id,
        round_id,
        3 as part_no,
        key_no,
        json_extract_string(step, '$.role') as role,
        tool || case when call_no > 1 then '#' || cast(call_no as string) else '' end as step_id,
        tool,
        json_extract_string(step, '$.result') as result,
        json_extract_string(step, '$.error') as error,
        {{ json_number('step', 'latency_ms') }} as latency_ms,
        {{ json_number('step', 'input_tokens') }} as input_tokens,
        {{ json_number('step', 'output_tokens') }} as output_tokens,
        json_extract(step, '$.arguments') as arguments,
        case when tool is not null then step end as call

    from numbered_calls

)

select * from agent_steps
