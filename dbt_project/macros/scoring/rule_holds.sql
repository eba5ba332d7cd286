{#- Whether an answer keeps a rule; null where that cannot be told. One `when` per rule.

    Reads the columns of int_rules_judged: `subject` (what the rule looks at, text),
    `stripped_subject`, `document` (the same as JSON), and those of the rule. Columns, not
    expressions: written out in each `when`, they would make planning take seconds. -#}
{% macro rule_holds() -%}
    case
        when not is_usable then null
        when is_error then false
        when rule = 'non_empty' then coalesce(stripped_subject <> '', false)
        when rule = 'max_tokens' then output_tokens <= operand_number
        when rule = 'required_keys'
            then coalesce({{ has_required_keys('document', 'operand') }}, false)
        when subject is null then false
        when rule = 'contains' then {{ count_where('texts', 'not contains(subject, k)') }} = 0
        when rule = 'not_contains' then {{ count_where('texts', 'contains(subject, k)') }} = 0
        when rule = 'contains_any' then {{ count_where('texts', 'contains(subject, k)') }} > 0
        when rule = 'starts_with'
            then {{ count_where('texts', begins_with('stripped_subject', 'k')) }} > 0
        when rule = 'ends_with'
            then {{ count_where('texts', 'right(stripped_subject, length(k)) = k') }} > 0
        when rule in ('equals', 'allowed_values')
            then {{ count_where('texts', 'stripped_subject = ' ~ stripped('k')) }} > 0
        when rule = 'max_chars' then length(subject) <= operand_number
        when rule = 'min_chars' then length(subject) >= operand_number
        when rule = 'is_json' then {{ is_json_text('subject') }}
        when rule = 'regex' then {{ regex_found('subject', 'pattern', 'ascii_pattern') }}
    end
{%- endmacro %}
