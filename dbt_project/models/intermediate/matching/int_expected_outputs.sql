{{ config(materialized=view_of_step()) }}

-- One row per round and output that its testset expects something of: a step, the aggregation, a field of the final
-- output, or in strict mode the final output as a whole (no `field`). int_check_results compares the `document`.
with

expectations as (select * from {{ ref('promptlab', 'stg_testsets__expectations') }}),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }} where testset_id is not null),
steps as (select * from {{ ref('promptlab', 'stg_pipelines__pipeline_steps') }}),
called as (select * from {{ ref('promptlab', 'int_round_steps') }} where tool is not null),

-- two calls may have one id: the second of `search` and the first of a tool `search#2`. The earlier one counts
calls as (

    select * from called
    qualify row_number() over (
        partition by task_id, case_id, round_id, step_id order by step_no
    ) = 1

),

scopes as (

    select distinct
        testset_id,
        case_id,
        scope,
        step_id,
        field

    from expectations

),

final_fields as (

    select
        testset_id,
        case_id,
        array_agg(field) filter (where field is not null) as fields

    from scopes
    where scope = 'final'
    group by testset_id, case_id

),

-- where a step's output, the aggregation or a field may be; keys that start with `_` are earlier verdicts
looked_up as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        rounds.step_outputs,
        rounds.final_output,
        rounds.final_source,
        scopes.testset_id,
        scopes.scope,
        scopes.step_id,
        scopes.field,
        steps.output_key,
        final_fields.fields,
        {{ step_output('rounds.step_outputs', 'scopes.step_id') }} as by_step_id,
        {{ step_output('rounds.step_outputs', 'steps.output_key') }} as by_output_key,
        calls.call as by_tool,
        case
            when scopes.scope = 'aggregation' and {{ json_kind('rounds.step_outputs') }} = 'object'
                then list_filter(
                    json_keys(rounds.step_outputs),
                    lambda k: left(k, 1) <> '_'
                    and cast({{ json_member('rounds.step_outputs', 'k') }} as string) <> 'null'
                )
        end as step_keys,
        coalesce(
            list_extract(list_filter(step_keys, lambda k: contains(lower(k), 'aggregat')), 1),
            list_extract(list_filter(step_keys, lambda k: contains(lower(k), 'batch')), 1)
        ) as aggregation_key,
        {{ json_member('rounds.final_output', 'scopes.field') }} as from_final,
        case
            when from_final is null
                then {{ step_output('rounds.step_outputs', 'scopes.field') }}
        end as from_steps,
        -- without such a key `output`, the key of the target or the only expected key means the
        -- whole final output
        case scopes.scope
            when 'aggregation' then true
            when 'final'
                then
                    scopes.field is null
                    or scopes.field = 'output'
                    or scopes.field = rounds.target_output_key
                    or len(final_fields.fields) = 1
        end as means_whole_output

    from scopes
    inner join rounds using (testset_id, case_id)
    left join final_fields using (testset_id, case_id)
    left join steps using (pipeline_id, step_id)
    left join calls using (task_id, case_id, round_id, step_id)

),

outputs as (

    select

        ---------- ids
        task_id,
        case_id,
        round_id,
        testset_id,
        scope,
        step_id,
        field,

        ---------- json
        coalesce(
            case scope
                when 'intermediate' then coalesce(by_step_id, by_output_key, by_tool)
                when 'aggregation' then {{ json_member('step_outputs', 'aggregation_key') }}
                else coalesce(from_final, from_steps)
            end,
            -- compact, as whatever comes out of another document is
            case when means_whole_output then json_extract(final_output, '$') end
        ) as document,

        ---------- strings
        case
            when scope = 'intermediate'
                then case
                    when by_step_id is not null then 'step_id'
                    when by_output_key is not null then 'output_key:' || output_key
                    when by_tool is not null then 'tool_call'
                end
            when scope = 'aggregation' and aggregation_key is not null
                then 'aggregation_key:' || aggregation_key
            when scope = 'final' and from_final is null and from_steps is not null
                then 'step_outputs'
            else final_source
        end as actual_source,

        ---------- booleans
        -- a key that is nowhere is a missing field of the output that is there
        document is not null or scope = 'final' and final_output is not null as has_output

    from looked_up
    -- strict mode checks the keys of the whole final output only if all expected keys are in it, not in
    -- outputs of steps
    where
        scope <> 'final'
        or field is not null
        or {{ json_kind('final_output') }} = 'object'
        and len(array_intersect(json_keys(final_output), fields))
        = len(fields)

)

select * from outputs
