-- One row per round and thing to compare: a step, the aggregation, a field of the final
-- output, or (field null, strict mode only) the final output as a whole. `document` is
-- what the expectation is compared with; SQL null = the round has no such output.
-- A view: the documents are read where they lie.
with

expectations as (

    select * from {{ ref('stg_testsets__expectations') }}

),

rounds as (

    select * from {{ ref('int_rounds_prepared') }}
    where testset_id is not null

),

steps as (

    select * from {{ ref('stg_pipelines__pipeline_steps') }}

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

intermediate_outputs as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        scopes.testset_id,
        scopes.scope,
        scopes.step_id,
        scopes.field,
        {{ step_output('rounds.step_outputs', 'scopes.step_id') }} as by_step_id,
        {{ step_output('rounds.step_outputs', 'steps.output_key') }} as by_output_key,
        coalesce(by_step_id, by_output_key) as document,
        case
            when document is null then null
            when by_step_id is not null then 'step_id'
            else 'output_key:' || steps.output_key
        end as actual_source,
        document is not null as has_output

    from scopes
    inner join rounds
        on scopes.testset_id = rounds.testset_id and scopes.case_id = rounds.case_id
    left join steps
        on rounds.pipeline_id = steps.pipeline_id and scopes.step_id = steps.step_id
    where scopes.scope = 'intermediate'

),

aggregation_keys as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        scopes.testset_id,
        scopes.scope,
        scopes.step_id,
        scopes.field,
        rounds.step_outputs,
        rounds.final_output,
        rounds.final_source,
        case
            when {{ json_kind('rounds.step_outputs') }} = 'object'
                then {{ non_null_keys('rounds.step_outputs') }}
        end as step_keys,
        coalesce(
            {{ first_where('step_keys', "contains(lower(k), 'aggregat')") }},
            {{ first_where('step_keys', "contains(lower(k), 'batch')") }}
        ) as aggregation_key

    from scopes
    inner join rounds
        on scopes.testset_id = rounds.testset_id and scopes.case_id = rounds.case_id
    where scopes.scope = 'aggregation'

),

aggregation_outputs as (

    select
        task_id,
        case_id,
        round_id,
        testset_id,
        scope,
        step_id,
        field,
        coalesce({{ json_member('step_outputs', 'aggregation_key') }}, final_output) as document,
        case
            when aggregation_key is not null then 'aggregation_key:' || aggregation_key
            when final_output is not null then final_source
        end as actual_source,
        document is not null as has_output

    from aggregation_keys

),

final_lookups as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        scopes.testset_id,
        scopes.scope,
        scopes.step_id,
        scopes.field,
        rounds.final_output,
        rounds.final_source,
        final_fields.fields,
        {{ json_member('rounds.final_output', 'scopes.field') }} as from_final,
        {{ step_output('rounds.step_outputs', 'scopes.field') }} as from_steps,
        scopes.field = 'output'
        or scopes.field = rounds.target_output_key
        or {{ list_size('final_fields.fields') }} = 1 as may_be_whole

    from scopes
    inner join rounds
        on scopes.testset_id = rounds.testset_id and scopes.case_id = rounds.case_id
    inner join final_fields
        on
            scopes.testset_id = final_fields.testset_id
            and scopes.case_id = final_fields.case_id
    where scopes.scope = 'final'

),

final_outputs as (

    select
        task_id,
        case_id,
        round_id,
        testset_id,
        scope,
        step_id,
        field,
        case
            when field is null then final_output
            else coalesce(from_final, from_steps, case when may_be_whole then final_output end)
        end as document,
        case
            when from_final is null and from_steps is not null then 'step_outputs'
            else final_source
        end as actual_source,
        -- a key that is nowhere is a missing field of the output that is there
        document is not null or final_output is not null as has_output

    from final_lookups
    -- strict mode looks at the whole only when every key came from it
    where
        field is not null
        or {{ contains_all(json_object_keys_or_none('final_output'), 'fields') }}

)

select
    task_id,
    case_id,
    round_id,
    testset_id,
    scope,
    step_id,
    field,
    document,
    actual_source,
    has_output
from intermediate_outputs

union all

select * from aggregation_outputs

union all

select * from final_outputs
