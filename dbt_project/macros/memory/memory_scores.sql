{#- Whether a question counts for a metric, failed or not. `metric` is a column, or a text
    in quotes. -#}
{% macro is_scorable(metric) -%}
    case {{ metric }}
        when 'mem0_f1' then has_reference and coalesce(category, '') <> '5'
        when 'locomo_f1' then has_reference or coalesce(category, '') = '5'
        else has_reference
    end
{%- endmacro %}

{#- The score of an answer by a metric. -#}
{% macro score_by(metric) -%}
    case {{ metric }}
        when 'locomo_f1' then locomo_f1
        when 'token_f1' then token_f1
        when 'mem0_f1' then mem0_f1
        when 'exact_match' then exact_match
        when 'contains_reference' then contains_reference
    end
{%- endmacro %}
