{#- Whether an answer keeps a rule; null where that cannot be told. One `when` per rule.
    `rules` and `rounds` are relations: int_rules_flattened and int_rounds_prepared. -#}
{% macro rule_holds(rules, rounds) -%}
    {%- set subject = '(' ~ rule_subject(rules, rounds) ~ ')' -%}
    {%- set rule, texts = rules ~ '.rule', rules ~ '.texts' -%}
    case
        when not {{ rules }}.is_usable then null
        when {{ rounds }}.is_error then false
        when {{ rule }} = 'non_empty' then coalesce({{ stripped(subject) }} <> '', false)
        when {{ rule }} = 'max_tokens'
            then {{ rounds }}.output_tokens <= {{ rules }}.operand_number
        when {{ rule }} = 'required_keys' then coalesce({{ has_required_keys(
            json_document_of(rounds ~ '.parsed_output', subject), rules ~ '.operand'
        ) }}, false)
        when {{ subject }} is null then false
        when {{ rule }} = 'contains'
            then {{ count_where(texts, 'not contains(' ~ subject ~ ', k)') }} = 0
        when {{ rule }} = 'not_contains'
            then {{ count_where(texts, 'contains(' ~ subject ~ ', k)') }} = 0
        when {{ rule }} = 'contains_any'
            then {{ count_where(texts, 'contains(' ~ subject ~ ', k)') }} > 0
        when {{ rule }} = 'starts_with'
            then {{ count_where(texts, 'starts_with(' ~ stripped(subject) ~ ', k)') }} > 0
        when {{ rule }} = 'ends_with' then {{ count_where(
            texts, 'right(' ~ stripped(subject) ~ ', length(k)) = k'
        ) }} > 0
        when {{ rule }} in ('equals', 'allowed_values')
            then {{ count_where(texts, stripped(subject) ~ ' = ' ~ stripped('k')) }} > 0
        when {{ rule }} = 'max_chars' then length({{ subject }}) <= {{ rules }}.operand_number
        when {{ rule }} = 'min_chars' then length({{ subject }}) >= {{ rules }}.operand_number
        when {{ rule }} = 'is_json' then {{ is_json_text(subject) }}
        when {{ rule }} = 'regex'
            then {{ regex_found(subject, rules ~ '.operand_text', rules ~ '.operand_text') }}
    end
{%- endmacro %}

{#- What a rule looks at: the answer, or one field of the parsed output. -#}
{% macro rule_subject(rules, rounds) -%}
    case
        when {{ rules }}.field is null then {{ rounds }}.answer
        when {{ json_member(rounds ~ '.parsed_output', rules ~ '.field') }} is not null
            then {{ json_as_text(json_member(rounds ~ '.parsed_output', rules ~ '.field')) }}
        when {{ rules }}.field = 'output' then {{ rounds }}.answer
    end
{%- endmacro %}

{#- A parsed output, else a text read as JSON where it is JSON. -#}
{% macro json_document_of(document, text) -%}
    coalesce({{ document }}, case when json_valid({{ text }}) then cast({{ text }} as json) end)
{%- endmacro %}

{#- A rule as people read it. -#}
{% macro rule_text(rules) -%}
    {{ rules }}.rule || ': ' || {{ shortened('cast(' ~ rules ~ '.operand as varchar)', 80) }}
{%- endmacro %}
