{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per round and expected value or container of its testset: expected against actual.
with

scopes as (select * from {{ ref('promptlab', 'int_expected_outputs') }}),
expectations as (select * from {{ ref('promptlab', 'stg_testsets__expectations') }}),

extracted as (

    select
        scopes.task_id,
        scopes.case_id,
        scopes.round_id,
        scopes.scope,
        scopes.step_id,
        scopes.field,
        scopes.actual_source,
        scopes.has_output,
        expectations.check_no,
        expectations.pointer,
        expectations.matcher,
        expectations.expected,
        expectations.operand,
        expectations.operand_ascii,
        expectations.expected_number,
        expectations.expected_length,
        expectations.allowed,
        expectations.tolerance,
        -- a document is compact already, and needs no reading to be found whole
        case
            when expectations.path = '$' then scopes.document
            else json_extract(scopes.document, expectations.path)
        end as actual

    from scopes
    inner join expectations
        on
            scopes.testset_id = expectations.testset_id
            and scopes.case_id = expectations.case_id
            and scopes.scope = expectations.scope
            and scopes.step_id is not distinct from expectations.step_id
            and scopes.field is not distinct from expectations.field

),

typed as (

    select
        *,
        {{ json_kind('actual') }} as actual_kind,
        {{ json_as_text('actual') }} as actual_text

    from extracted

),

judged as (

    select
        *,
        {{ failure_reason() }} as reason

    from typed

),

checks as (

    select

        ---------- ids
        task_id,
        case_id,
        round_id,
        scope,
        step_id,
        field,
        check_no,

        ---------- strings
        pointer,
        matcher,
        cast(expected as string) as expected,
        -- a container that holds is its parts; they are listed themselves
        case
            when matcher not in ('object', 'array') or reason is not null
                then left(cast(actual as string), 500)
        end as actual,
        case
            when reason is null then 'pass'
            when reason = 'invalid_pattern' then 'unevaluated'
            else 'fail'
        end as status,
        reason,
        actual_source

    from judged

)

select * from checks
