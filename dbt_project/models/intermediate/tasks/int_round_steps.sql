{{ config(materialized=view_of_step()) }}

-- One row per round and step before its answer, in order: an output of a pipeline's step, or a message
-- or tool call of an agent, with its time and tokens.
with

rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }} where {{ in_this_build() }}),

rounds_with_steps as (

    select
        task_id,
        case_id,
        round_id,
        steps,
        nullif(json_extract(metadata, '$.steps'), 'null') as figures,
        coalesce(
            step_outputs, nullif(json_extract(metadata, '$.step_outputs'), 'null')
        ) as outputs

    from rounds
    where steps is not null or step_outputs is not null or cast(metadata as string) <> '{}'

),

-- steps of a pipeline: keys that start with `_` are earlier verdicts
keys as (

    select
        *,
        1 as part_no,
        unnest(json_keys(outputs)) as step_id,
        unnest(range(cast(len(json_keys(outputs)) as bigint))) as key_no

    from rounds_with_steps
    where {{ json_kind('outputs') }} = 'object'

    union all

    -- figures of a step without an output
    select
        *,
        2 as part_no,
        unnest(json_keys(figures)) as step_id,
        cast(0 as bigint) as key_no

    from rounds_with_steps
    where {{ json_kind('figures') }} = 'object'

),

members as (

    select
        *,
        {{ json_member('outputs', 'step_id') }} as output,
        {{ json_member('figures', 'step_id') }} as step_figures

    from keys

),

pipeline_steps as (

    select
        task_id,
        case_id,
        round_id,
        part_no,
        key_no,
        'step' as role,
        step_id,
        cast(null as string) as tool,
        {{ json_as_text('output') }} as result,
        cast(null as string) as error,
        {{ json_number('step_figures', 'latency_ms') }} as latency_ms,
        {{ json_number('step_figures', 'input_tokens') }} as input_tokens,
        {{ json_number('step_figures', 'output_tokens') }} as output_tokens,
        cast(null as json) as arguments,
        cast(null as json) as call

    from members
    where left(step_id, 1) <> '_' and (part_no = 1 or output is null)

),

-- messages and tool calls of an agent
messages as (

    select
        task_id,
        case_id,
        round_id,
        unnest(json_extract(steps, '$[*]')) as step,
        unnest(range(cast(json_array_length(steps) as bigint))) as key_no

    from rounds_with_steps
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

),

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
