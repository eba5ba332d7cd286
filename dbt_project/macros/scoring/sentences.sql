{#- A share as people read it: 0.625 as 62.5%. -#}
{% macro percent_text(share) -%}
    {{ fixed_decimals('100.0 * (' ~ share ~ ')', 1) }} || '%'
{%- endmacro %}

{#- A share beside its limit: with all its digits where it would otherwise read as equal. -#}
{% macro percent_beside(share, limit) -%}
    case
        when {{ share }} <> {{ limit }} and {{ percent_text(share) }} = {{ percent_text(limit) }}
            then {{ fixed_decimals('100.0 * (' ~ share ~ ')', 4) }} || '%'
        else {{ percent_text(share) }}
    end
{%- endmacro %}

{#- A metric with its unit, as people read it. -#}
{% macro measure_text(number, unit, language='zh') -%}
    {%- set words = {
        'zh': {'tokens': ' 个 token', 'characters': ' 个字符'},
        'en': {'tokens': ' tokens', 'characters': ' chars'},
    }[language] -%}
    case {{ unit }}
        when 'share' then {{ percent_text(number) }}
        when 'cost' then rtrim(rtrim({{ fixed_decimals(number, 6) }}, '0'), '.')
        when 'variance' then {{ fixed_decimals(number, 4) }}
        when 'sum' then {{ fixed_decimals(number, 2) }}
        when 'ms' then {{ fixed_decimals(number, 0) }} || ' ms'
        when 'tokens' then {{ fixed_decimals(number, 0) }} || '{{ words.tokens }}'
        when 'characters' then {{ fixed_decimals(number, 0) }} || '{{ words.characters }}'
    end
{%- endmacro %}

{#- A sentence with its places filled: {name} by the column or expression given for it. A
    missing value leaves a dash, never an empty sentence. -#}
{% macro filled(template, values) -%}
    {%- set sentence = namespace(sql=template) -%}
    {%- for place, value in values.items() -%}
        {%- set sentence.sql = "replace(" ~ sentence.sql ~ ", '{" ~ place ~ "}', coalesce("
            ~ value ~ ", '–'))" -%}
    {%- endfor -%}
    {{ sentence.sql }}
{%- endmacro %}

{#- A text of at most so many characters, with an ellipsis where it was cut. -#}
{% macro shortened(text, at_most=80) -%}
    case
        when length({{ text }}) > {{ at_most }} then left({{ text }}, {{ at_most - 1 }}) || '…'
        else {{ text }}
    end
{%- endmacro %}

{#- An alert's sentence: the policy's template with the facts of int_task_alerts filled in.
    Names and details come last, so that braces in them stay what they are. -#}
{% macro alert_sentence(language) -%}
    {{ filled({'zh': 'rated.template', 'en': 'rated.template_en'}[language], {
        'value': "case when rated.unit = 'share' then "
            ~ percent_beside('rated.value', 'rated.limit_value')
            ~ ' else ' ~ measure_text('rated.value', 'rated.unit', language) ~ ' end',
        'limit': measure_text('rated.limit_value', 'rated.unit', language),
        'n': 'cast(rated.n as string)',
        'total': 'cast(rated.n_total as string)',
        'name': 'rated.name',
        'detail': {'zh': 'rated.detail', 'en': 'rated.detail_en'}[language],
    }) }}
{%- endmacro %}
