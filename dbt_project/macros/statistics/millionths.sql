{#- A score of 6 digits in whole millionths. -#}
{% macro millionths(score) -%}
    cast(round({{ score }} * 1000000) as bigint)
{%- endmacro %}
