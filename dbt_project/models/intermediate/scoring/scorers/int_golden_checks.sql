{{ config(materialized=view_of_step()) }}

with

dimensions as (

    select * from {{ ref('int_dimensions_resolved') }}
    where scorer = 'accuracy' and problem is null and match_rule = 'json'

),

golden_answers as (

    select * from {{ ref('int_golden_answers') }}

),

nodes as (

    select
        dimensions.task_id,
        dimensions.dimension_id,
        dimensions.tolerance,
        golden_answers.case_id,
        golden_answers.golden_no,
        golden_answers.golden_json,
        golden_answers.patterns,
        {{ readable_path('nodes.fullkey') }} as path,
        nodes.value as expected,
        {{ json_kind('nodes.value') }} as kind,
        {{ json_as_text('nodes.value') }} as expected_text

    from dimensions
    inner join golden_answers on dimensions.task_id = golden_answers.task_id
    cross join {{ json_nodes('golden_answers.golden_json') }} as nodes

),

typed as (

    select
        *,
        case
            when kind = 'text' and left(expected_text, 9) = 'contains:' then 'contains'
            when kind = 'text' and left(expected_text, 6) = 'regex:' then 'regex'
            when kind = 'boolean' then 'bool'
            else kind
        end as matcher,
        case
            when kind <> 'text' then expected_text
            when left(expected_text, 9) = 'contains:'
                then {{ stripped("substr(expected_text, length('contains:') + 1)") }}
            when left(expected_text, 6) = 'regex:'
                then {{ stripped_left("substr(expected_text, length('regex:') + 1)") }}
            when left(expected_text, 8) = 'literal:'
                then substr(expected_text, length('literal:') + 1)
            else expected_text
        end as given_operand

    from nodes

),

spelled as (

    select
        *,
        case
            when matcher = 'regex' then {{ pattern_spelling('patterns', 'given_operand') }}
        end as pattern,
        case
            when matcher = 'regex' then {{ ascii_pattern_spelling('patterns', 'given_operand') }}
        end as ascii_pattern

    from typed

),

checks as (

    select
        task_id,
        dimension_id,
        case_id,
        golden_no,
        golden_json,
        path,
        expected,
        matcher,
        -- a pattern that cannot be run has none
        case
            when matcher <> 'regex' then given_operand
            when {{ regex_found("''", 'pattern', 'ascii_pattern') }} is not null then pattern
        end as operand,
        ascii_pattern as operand_ascii,
        case when kind = 'number' then {{ finite_number('expected_text') }} end
            as expected_number,
        case when kind = 'array' then json_array_length(expected) end as expected_length,
        {{ as_json("null") }} as allowed,
        tolerance

    from spelled

)

select * from checks
