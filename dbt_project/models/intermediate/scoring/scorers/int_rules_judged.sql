with

rules as (

    select * from {{ ref('int_rules_flattened') }}

),

rounds as (

    select * from {{ ref('int_rounds_prepared') }}

),

-- a rule may look at one field of the parsed output
paired as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        rounds.is_error,
        rounds.output_tokens,
        rounds.parsed_output,
        rounds.answer,
        rules.baseline_id,
        rules.rule_no,
        rules.rule,
        rules.field,
        rules.severity,
        rules.is_usable,
        rules.texts,
        rules.pattern,
        rules.ascii_pattern,
        rules.operand_number,
        rules.operand,
        {{ json_member('rounds.parsed_output', 'rules.field') }} as member

    from rules
    inner join rounds on rules.task_id = rounds.task_id and rules.case_id = rounds.case_id

),

subjects as (

    select
        *,
        case
            when field is null then answer
            when member is not null then {{ json_as_text('member') }}
            when field = 'output' then answer
        end as subject

    from paired

),

read as (

    select
        *,
        {{ stripped('subject') }} as stripped_subject,
        coalesce(
            parsed_output,
            case when {{ is_json_text('subject') }} then {{ as_json("subject") }} end
        ) as document

    from subjects

),

judged as (

    select
        task_id,
        case_id,
        round_id,
        baseline_id,
        rule_no,
        rule,
        severity,
        is_usable,
        rule || ': ' || {{ shortened('cast(operand as string)', 80) }} as rule_text,
        {{ rule_holds() }} as holds

    from read

)

select * from judged
