{#- Sums that do not depend on the order of the rows: sums of doubles differ in the last
    bit, and a score that is rounded there would differ too. For shares, scores and
    weights, taken to 15 digits. -#}
{% macro exact_sum(column, over='') -%}
    cast(sum(cast({{ column }} as decimal(38, 15))) {{ over }} as double)
{%- endmacro %}

{#- Mean of such a column; null over nothing. -#}
{% macro exact_mean(column) -%}
    {{ exact_sum(column) }} / nullif(count({{ column }}), 0)
{%- endmacro %}

{#- Sum of weight times score, the weight taken to 9 digits. -#}
{% macro exact_weighted_sum(weight, column) -%}
    cast(
        sum(cast({{ weight }} as decimal(18, 9)) * cast({{ column }} as decimal(18, 15))) as double
    )
{%- endmacro %}
