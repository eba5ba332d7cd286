{{ config(materialized=view_of_step()) }}

-- One row per round and step of a pipeline that its file records: the output, or only time and tokens (`part_no` 2).
-- `key_no` is the place of the output; int_round_steps numbers the steps by both.
with

rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }} where {{ in_this_build() }}),

rounds_with_steps as (

    select
        task_id,
        case_id,
        round_id,
        nullif(json_extract(metadata, '$.steps'), 'null') as figures,
        coalesce(
            step_outputs, nullif(json_extract(metadata, '$.step_outputs'), 'null')
        ) as outputs

    from rounds
    where step_outputs is not null or cast(metadata as string) <> '{}'

),

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
    -- keys that start with `_` are earlier verdicts
    where left(step_id, 1) <> '_' and (part_no = 1 or output is null)

)

select * from pipeline_steps
