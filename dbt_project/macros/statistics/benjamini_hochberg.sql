{#- Benjamini and Hochberg's adjusted p-value within a family of tests: the smallest p·n/rank
    from this rank upwards. Reads the columns p_value, p_rank (by p_value, nulls last) and
    n_tests, how many are not null. A null is no test, and stays null. -#}
{% macro bh_adjusted(family) -%}
    case
        when p_value is not null then least(1e0, min(p_value * n_tests / p_rank) over (
            partition by {{ family }}, p_value is null
            order by p_rank desc rows unbounded preceding
        ))
    end
{%- endmacro %}
