{#- Quantiles of the normal distribution. The exponent makes the engine read a double: a
    long decimal would overflow in products. -#}
{% macro z_975() -%}
    1.959963984540054e0
{%- endmacro %}

{% macro z_800() -%}
    0.8416212335729143e0
{%- endmacro %}

{% macro z_900() -%}
    1.2815515655446004e0
{%- endmacro %}
