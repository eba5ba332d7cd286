{{ config(materialized=view_of_step()) }}

-- One row per round and dimension with the scorer `accuracy` by JSON: whether the answer matches a golden answer.
with

dimensions as (
    select * from {{ ref('promptlab', 'int_dimensions_resolved') }}
    where scorer = 'accuracy' and problem is null and match_rule = 'json'
),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),
checks as (select * from {{ ref('promptlab', 'stg_tasks__golden_checks') }} where {{ in_this_build() }}),

answers as (

    select
        dimensions.task_id,
        dimensions.dimension_id,
        dimensions.tolerance,
        rounds.case_id,
        rounds.round_id,
        rounds.is_error,
        coalesce(rounds.parsed_output, rounds.final_output) as document,
        {{ read_json('document') }} as read_document

    from dimensions
    inner join rounds using (task_id)

),

-- a round of a case without golden answer has one row without a check
extracted as (

    select
        answers.task_id,
        answers.dimension_id,
        answers.case_id,
        answers.round_id,
        answers.is_error,
        answers.tolerance,
        answers.document is not null as has_output,
        checks.golden_no,
        checks.matcher,
        checks.operand,
        checks.operand_ascii,
        checks.expected_number,
        checks.expected_length,
        cast(null as json) as allowed,
        -- an answer that is JSON text is parsed, unless a text is expected
        json_extract(
            case
                when checks.path <> '$' then answers.read_document
                when checks.matcher not in ('object', 'array', 'number', 'bool', 'null')
                    then answers.document
                else answers.read_document
            end,
            checks.path
        ) as actual

    from answers
    left join checks using (task_id, case_id)

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
        {{ failure_reason() }} as failure

    from typed

),

matched as (

    select
        task_id,
        dimension_id,
        case_id,
        round_id,
        golden_no,
        bool_or(is_error) as is_error,
        -- a failed check decides; without one, an unjudged check decides
        case
            when golden_no is null then null
            when bool_or(failure <> 'invalid_pattern') then false
            when bool_or(failure = 'invalid_pattern') then null
            else true
        end as is_match

    from judged
    group by task_id, dimension_id, case_id, round_id, golden_no

),

scored as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        max(case
            when is_match is null then null
            when is_match and not is_error then 1.0
            else 0.0
        end) as metric,
        case
            when count(golden_no) = 0 then 'no_baseline'
            when count(is_match) = 0 then 'invalid_pattern'
            when bool_or(is_error) then 'error_round'
        end as reason,
        cast(null as string) as expected,
        cast(null as string) as actual,
        cast(null as json) as detail

    from matched
    group by task_id, case_id, round_id, dimension_id

)

select * from scored
