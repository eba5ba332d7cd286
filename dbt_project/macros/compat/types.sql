{#- A JSON document from its text. -#}
{% macro as_json(text) -%}
    {{ return(adapter.dispatch('as_json')(text)) }}
{%- endmacro %}

{% macro default__as_json(text) -%}
    cast({{ text }} as json)
{%- endmacro %}

{% macro spark__as_json(text) -%}
    cast({{ text }} as string)
{%- endmacro %}
