{#- A double with a fixed count of decimals. Ties are what they are after the multiplication,
    on every engine: Spark alone would round the shortest decimal that reads as the number. -#}
{% macro rounded(number, digits=6) -%}
    {{ return(adapter.dispatch('rounded')(number, digits)) }}
{%- endmacro %}

{% macro default__rounded(number, digits) -%}
    round({{ number }}, {{ digits }})
{%- endmacro %}

{% macro spark__rounded(number, digits) -%}
    round(({{ number }}) * 1e{{ digits }}) / 1e{{ digits }}
{%- endmacro %}
