{#- How a step is kept that hardly costs more than its text: as a view where the engine
    inlines it for nothing. Spark plans a view anew in each of its readers (the examples'
    build took 221 s with views, 159 s with tables); its metastore may hold no more than
    32,700 characters of a view (Derby), and lose a backslash of it (Iceberg's). -#}
{% macro view_of_step() -%}
    {{ return(adapter.dispatch('view_of_step')()) }}
{%- endmacro %}

{% macro default__view_of_step() -%}
    {{ return('view') }}
{%- endmacro %}

{% macro spark__view_of_step() -%}
    {{ return('table') }}
{%- endmacro %}
