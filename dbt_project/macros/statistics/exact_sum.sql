{#- Sum of scores or shares (values rounded to 6 digits). Added as decimals: sums of
    doubles differ in the last bit with the order of the rows, and a score must not. -#}
{% macro exact_sum(column) -%}
    cast(sum(cast({{ column }} as decimal(18, 6))) as double)
{%- endmacro %}

{#- Mean of such a column; null over nothing. -#}
{% macro exact_mean(column) -%}
    {{ exact_sum(column) }} / nullif(count({{ column }}), 0)
{%- endmacro %}

{#- Sum of weight times score, both of 6 digits. -#}
{% macro exact_weighted_sum(weight, column) -%}
    cast(
        sum(cast({{ weight }} as decimal(9, 6)) * cast({{ column }} as decimal(9, 6))) as double
    )
{%- endmacro %}
