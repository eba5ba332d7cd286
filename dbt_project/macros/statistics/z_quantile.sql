{#- The 97.5 % quantile of the normal distribution. The exponent makes the engine read a
    double: a long decimal would overflow in products. -#}
{% macro z_975() -%}
    1.959963984540054e0
{%- endmacro %}
