{#- Whether a question counts for a metric, failed or not. `metric` is a column, or a text
    in quotes; `answers` names the rows where there are several. -#}
{% macro is_scorable(metric, answers=none) -%}
    {%- set of = answers ~ '.' if answers else '' -%}
    case {{ metric }}
        when 'mem0_f1' then {{ of }}has_reference and coalesce({{ of }}category, '') <> '5'
        when 'locomo_f1' then {{ of }}has_reference or coalesce({{ of }}category, '') = '5'
        else {{ of }}has_reference
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
