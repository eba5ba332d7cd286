{#- An integer of up to 38 digits; null for a larger one. -#}
{% macro try_wide_integer(text) -%}
    {{ return(adapter.dispatch('try_wide_integer')(text)) }}
{%- endmacro %}

{% macro default__try_wide_integer(text) -%}
    try_cast({{ text }} as hugeint)
{%- endmacro %}
