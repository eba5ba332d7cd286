{#- Schemas are named after their layer, not after the target: everybody reads
    marts.fct_rounds, whoever built it. -#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ custom_schema_name or target.schema }}
{%- endmacro %}
