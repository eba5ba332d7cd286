{#- Benjamini and Hochberg's adjusted p-values, in two steps with a CTE between them: the
    ranks within a family of tests, then the smallest p·n/rank from this rank upwards. A
    null is no test: it has no rank to speak of, and stays null. -#}
{% macro bh_rank(p, family) -%}
    row_number() over (partition by {{ family }} order by {{ p }} nulls last)
{%- endmacro %}

{% macro bh_adjusted(p, rank, n_tests, family) -%}
    case
        when {{ p }} is not null then least(1e0, min({{ p }} * {{ n_tests }} / {{ rank }}) over (
            partition by {{ family }}, {{ p }} is null
            order by {{ rank }} desc rows unbounded preceding
        ))
    end
{%- endmacro %}
