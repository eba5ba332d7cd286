{{ config(materialized=view_of_step()) }}

with

dimensions as (

    select * from {{ ref('int_dimensions_resolved') }}
    where scorer = 'accuracy' and problem is null and match_rule = 'json'

),

rounds as (

    select * from {{ ref('int_rounds_prepared') }}

),

checks as (

    select * from {{ ref('int_golden_checks') }}

),

-- an answer that is JSON text is read as JSON, unless a text is what is wanted
documents as (

    select
        dimensions.task_id,
        dimensions.dimension_id,
        rounds.case_id,
        rounds.round_id,
        rounds.is_error,
        coalesce(rounds.parsed_output, rounds.final_output) as document,
        case
            when {{ json_kind('document') }} = 'text' and {{ is_json_text('rounds.answer') }}
                then {{ as_json("rounds.answer") }}
            else document
        end as read_document

    from dimensions
    inner join rounds on dimensions.task_id = rounds.task_id

),

extracted as (

    select
        documents.task_id,
        documents.dimension_id,
        documents.case_id,
        documents.round_id,
        documents.is_error,
        documents.document is not null as has_output,
        checks.golden_no,
        checks.matcher,
        checks.operand,
        checks.operand_ascii,
        checks.expected_number,
        checks.expected_length,
        checks.allowed,
        checks.tolerance,
        {{ try_json_value_at(
            "case when " ~ json_kind('checks.golden_json') ~ " = 'text' then documents.document"
            ~ " else documents.read_document end",
            'checks.path'
        ) }} as actual

    from documents
    left join checks
        on
            documents.task_id = checks.task_id
            and documents.dimension_id = checks.dimension_id
            and documents.case_id = checks.case_id

),

typed as (

    select
        *,
        {{ json_kind('actual') }} as actual_kind,
        {{ json_as_text('actual') }} as actual_text

    from extracted

),

-- how badly a check misses: 0 it holds, 1 it cannot be judged, 2 it fails
judged as (

    select
        task_id,
        dimension_id,
        case_id,
        round_id,
        golden_no,
        is_error,
        case coalesce({{ failure_reason() }}, 'holds')
            when 'holds' then 0
            when 'invalid_pattern' then 1
            else 2
        end as miss

    from typed

)

select * from judged
