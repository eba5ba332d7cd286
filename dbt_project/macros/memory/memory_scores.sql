{#- Whether a question counts for a metric, failed or not. `metric` is a column, or a text
    in quotes. -#}
{% macro is_scorable(metric, answers='answers') -%}
    case {{ metric }}
        when 'mem0_f1'
            then {{ answers }}.has_reference and coalesce({{ answers }}.category, '') <> '5'
        when 'locomo_f1'
            then {{ answers }}.has_reference or coalesce({{ answers }}.category, '') = '5'
        else {{ answers }}.has_reference
    end
{%- endmacro %}

{#- The score of an answer by a metric. -#}
{% macro score_by(metric, answers) -%}
    case {{ metric }}
        when 'locomo_f1' then {{ answers }}.locomo_f1
        when 'token_f1' then {{ answers }}.token_f1
        when 'mem0_f1' then {{ answers }}.mem0_f1
        when 'exact_match' then {{ answers }}.exact_match
        when 'contains_reference' then {{ answers }}.contains_reference
    end
{%- endmacro %}

{#- The score of an answer by the headline rule: a failed call is 0, and null means that
    the question does not count. -#}
{% macro headline_score(metric, answers) -%}
    case
        when not ({{ is_scorable(metric, answers) }}) then null
        when {{ answers }}.is_failed then 0
        else {{ score_by(metric, answers) }}
    end
{%- endmacro %}
