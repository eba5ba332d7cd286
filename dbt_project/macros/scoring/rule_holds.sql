{#- Whether an answer keeps a rule; null where that cannot be judged. One `when` per rule.

    Reads the columns of int_rules_judged: `subject` (what the rule looks at, text),
    `stripped_subject`, `document` (the same as JSON, a text that holds JSON read), and
    those of the rule. Columns, not expressions: written out in each `when`, they would
    make planning take seconds. -#}
{% macro rule_holds() -%}
    case
        when not is_usable then null
        when is_error or subject is null then false
        when rule = 'contains' then len(list_filter(texts, lambda k: not contains(subject, k))) = 0
        when rule = 'not_contains' then len(list_filter(texts, lambda k: contains(subject, k))) = 0
        when rule = 'contains_any' then len(list_filter(texts, lambda k: contains(subject, k))) > 0
        when rule = 'starts_with' then len(
            list_filter(texts, lambda k: {{ begins_so('stripped_subject', 'k') }})
        ) > 0
        when rule = 'ends_with' then len(
            list_filter(texts, lambda k: {{ ends_so('stripped_subject', 'k') }})
        ) > 0
        when rule in ('equals', 'allowed_values') then len(
            list_filter(operands, lambda k: {{ equals_operand('k') }})
        ) > 0
        when rule = 'max_chars' then length(subject) <= operand_number
        when rule = 'min_chars' then length(subject) >= operand_number
        when rule = 'max_tokens' then subject_tokens <= operand_number
        when rule = 'non_empty' then stripped_subject not in ('', '{}', '[]')
        when rule = 'is_json' then {{ is_json_text('subject') }}
        when rule = 'regex' then {{ regex_found('subject', 'pattern', 'ascii_pattern') }}
        when rule = 'required_keys'
            then coalesce({{ has_required_keys('document', 'operand') }}, false)
    end
{%- endmacro %}

{#- Whether a stripped text begins with another one, white space before that aside. -#}
{% macro begins_so(text, beginning) -%}
    left({{ text }}, length({{ stripped_left(beginning) }})) = {{ stripped_left(beginning) }}
{%- endmacro %}

{#- Whether a stripped text ends in another one, white space behind that aside. -#}
{% macro ends_so(text, ending) -%}
    right({{ text }}, length({{ stripped_right(ending) }})) = {{ stripped_right(ending) }}
{%- endmacro %}

{#- Whether the subject is what a rule names: a text by its text, anything else by its JSON. -#}
{% macro equals_operand(operand) -%}
    case
        when {{ json_kind(operand) }} = 'text'
            then stripped_subject = {{ stripped(json_as_text(operand)) }}
        else coalesce(canonical_document = {{ canonical_json(operand) }}, false)
    end
{%- endmacro %}
