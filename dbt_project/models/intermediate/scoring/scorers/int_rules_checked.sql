-- One row per round and `rules` baseline: whether all its rules hold, and which do not.
-- Null when nothing is broken but something could not be judged.
with

rules as (

    select * from {{ ref('int_rules_flattened') }}

),

rounds as (

    select * from {{ ref('int_rounds_prepared') }}

),

subjects as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        rounds.is_error,
        rounds.output_tokens,
        rounds.parsed_output,
        rules.baseline_id,
        rules.rule_no,
        rules.rule,
        rules.severity,
        rules.is_usable,
        rules.texts,
        rules.operand_text,
        rules.operand_number,
        rules.operand,
        -- a rule may look at one field of the parsed output
        case
            when rules.field is null then rounds.answer
            when {{ json_member('rounds.parsed_output', 'rules.field') }} is not null
                then {{ json_as_text(json_member('rounds.parsed_output', 'rules.field')) }}
            when rules.field = 'output' then rounds.answer
        end as subject,
        {{ stripped('subject') }} as stripped_subject

    from rules
    inner join rounds on rules.task_id = rounds.task_id and rules.case_id = rounds.case_id

),

judged as (

    select
        *,
        case
            when not is_usable then null
            when is_error then false
            when rule = 'non_empty' then coalesce(stripped_subject <> '', false)
            when rule = 'max_tokens' then output_tokens <= operand_number
            when rule = 'required_keys' then coalesce({{ has_required_keys(
                "coalesce(parsed_output, case when json_valid(subject) then cast(subject as json) end)",
                'operand'
            ) }}, false)
            when subject is null then false
            when rule = 'contains'
                then {{ count_where('texts', 'not contains(subject, k)') }} = 0
            when rule = 'not_contains' then {{ count_where('texts', 'contains(subject, k)') }} = 0
            when rule = 'contains_any' then {{ count_where('texts', 'contains(subject, k)') }} > 0
            when rule = 'starts_with'
                then {{ count_where('texts', 'starts_with(stripped_subject, k)') }} > 0
            when rule = 'ends_with'
                then {{ count_where('texts', 'right(stripped_subject, length(k)) = k') }} > 0
            when rule in ('equals', 'allowed_values')
                then {{ count_where('texts', 'stripped_subject = ' ~ stripped('k')) }} > 0
            when rule = 'max_chars' then length(subject) <= operand_number
            when rule = 'min_chars' then length(subject) >= operand_number
            when rule = 'is_json' then {{ is_json_text('subject') }}
            when rule = 'regex' then {{ regex_found('subject', 'operand_text', 'operand_text') }}
        end as holds

    from subjects

),

checked as (

    select
        task_id,
        case_id,
        round_id,
        baseline_id,
        bool_or(is_error) as is_error,
        bool_or(severity = 'must') as is_must,
        case
            when bool_or(not holds) then false
            when count(*) = count(holds) then true
        end as holds,
        case
            when bool_or(holds is null and rule = 'regex') then 'invalid_pattern'
            when bool_or(holds is null and rule = 'max_tokens' and is_usable) then 'not_measured'
            when bool_or(holds is null) then 'unknown_rule'
        end as reason,
        string_agg(
            rule || ': ' || {{ shortened('cast(operand as varchar)', 80) }}, '; ' order by rule_no
        ) filter (where not holds) as broken_rules

    from judged
    group by task_id, case_id, round_id, baseline_id

)

select * from checked
