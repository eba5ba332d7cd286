{#- What a step gave, by its id or output key. Keys that start with `_` are earlier
    verdicts and are never looked at. -#}
{% macro step_output(step_outputs, key) -%}
    case when left({{ key }}, 1) <> '_' then {{ json_member(step_outputs, key) }} end
{%- endmacro %}
