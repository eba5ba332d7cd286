-- One row per round and rule on its case: whether the round keeps it (`holds`).
with

rules as (select * from {{ ref('promptlab', 'stg_tasks__rules') }} where {{ in_this_build() }}),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),

-- a rule may look at one field: of the final object, else of the step outputs
paired as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        rounds.is_error,
        rounds.output_tokens,
        rounds.parsed_output,
        rounds.final_output,
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
        rules.operands,
        coalesce(
            {{ json_member('rounds.final_output', 'rules.field') }},
            {{ step_output('rounds.step_outputs', 'rules.field') }}
        ) as member,
        rules.field is null
        or member is null and (
            rules.field = 'output' or rules.field = rounds.target_output_key
        ) as is_whole

    from rules
    inner join rounds using (task_id, case_id)

),

subjects as (

    select
        *,
        case when is_whole then answer else {{ json_as_text('member') }} end as subject,
        case when is_whole then output_tokens end as subject_tokens,
        case when is_whole then coalesce(parsed_output, final_output) else member end
            as subject_value

    from paired

),

read as (

    select
        *,
        cast(operand as string) as operand_text,
        {{ stripped('subject') }} as stripped_subject,
        -- most rules read the text alone
        case
            when rule in ('equals', 'allowed_values', 'required_keys')
                then {{ read_json('subject_value') }}
        end as document,
        case
            when rule in ('equals', 'allowed_values')
                then {{ canonical_json('document') }}
        end as canonical_document

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
        rule || ': ' || case
            when length(operand_text) > 80 then left(operand_text, 79) || '…'
            else operand_text
        end as rule_text,
        {{ rule_holds() }} as holds

    from read

)

select * from judged
