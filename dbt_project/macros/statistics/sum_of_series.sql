{#- Sum of an expression of `k` over the whole numbers from one to another, in steps; 0
    over none. The last one is excluded. -#}
{% macro sum_of_series(expression, first, end, step=1) -%}
    coalesce(
        list_sum(list_transform(
            range({{ first }}, {{ end }}, {{ step }}), lambda k: {{ expression }}
        )),
        0
    )
{%- endmacro %}
