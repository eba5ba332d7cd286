{#- The engine's own threads; dbt's `threads` in profiles.yml is how many models it builds at
    a time. Nothing is said where PROMPTLAB_THREADS is not set: the engine takes all cores. -#}
{% macro limit_threads() -%}
    {{ return(adapter.dispatch('limit_threads')()) }}
{%- endmacro %}


{% macro duckdb__limit_threads() -%}
    {%- set threads = env_var('PROMPTLAB_THREADS', '') -%}
    {%- if threads %}set threads = {{ threads | int }}{% endif -%}
{%- endmacro %}


{% macro default__limit_threads() -%}
{%- endmacro %}
