{#- How many of n values a share of them cuts off on each side: the floor, with a grain of
    slack, so that 0.29 of 100 is 29. -#}
{% macro n_trimmed(n, trim) -%}
    cast(floor({{ n }} * {{ trim }} + 1e-9) as bigint)
{%- endmacro %}
