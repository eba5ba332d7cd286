{#- Tables and files, statements and settings. Paths are ours, or the user's own option:
    they hold no quotes. -#}

{#- How a step is kept that hardly costs more than its text: as a view where the engine
    inlines it for nothing, else as a table. -#}
{% macro view_of_step() -%}
    {{ return(adapter.dispatch('view_of_step')()) }}
{%- endmacro %}

{% macro default__view_of_step() -%}
    {{ return('view') }}
{%- endmacro %}

{#- After a model is written: what its contract says of single rows (check, not_null). -#}
{% macro check_constraints(relation, node) -%}
    {{ return(adapter.dispatch('check_constraints')(relation, node)) }}
{%- endmacro %}

{#- DuckDB looks at each row as it is written. -#}
{% macro default__check_constraints(relation, node) -%}
{%- endmacro %}

{#- Before a build: the engine's own threads; dbt's `threads` in profiles.yml is how many
    models it builds at a time. Where PROMPTLAB_THREADS is not set the engine takes all cores. -#}
{% macro limit_threads() -%}
    {{ return(adapter.dispatch('limit_threads')()) }}
{%- endmacro %}

{% macro default__limit_threads() -%}
    {%- set threads = env_var('PROMPTLAB_THREADS', '') -%}
    {%- if threads %}set threads = {{ threads | int }}{% endif -%}
{%- endmacro %}

{#- A hook of several statements: all of them or none where the engine has transactions. -#}
{% macro run_together(statements) -%}
    {{ return(adapter.dispatch('run_together')(statements)) }}
{%- endmacro %}

{% macro default__run_together(statements) -%}
    {{ statements | join(';\n') }}
{%- endmacro %}

{#- The statements that put the rows of a query in the place of those that meet a
    condition. -#}
{% macro replace_rows(table, condition, rows) -%}
    {{ return(adapter.dispatch('replace_rows')(table, condition, rows)) }}
{%- endmacro %}

{% macro default__replace_rows(table, condition, rows) -%}
    {{ return([
        'delete from ' ~ table ~ ' where ' ~ condition,
        'insert into ' ~ table ~ ' ' ~ rows,
    ]) }}
{%- endmacro %}

{#- A view in the place of the one of its name. -#}
{% macro replace_view(name, rows) -%}
    {{ return(adapter.dispatch('replace_view')(name, rows)) }}
{%- endmacro %}

{% macro default__replace_view(name, rows) -%}
    {%- do run_query('create or replace view ' ~ name ~ ' as ' ~ rows) -%}
{%- endmacro %}

{#- What a build remembers, on an engine whose warehouse ingest does not make; Parquet
    whatever the format of the other tables. -#}
{% macro create_build_state() -%}
    {{ return(adapter.dispatch('create_build_state')()) }}
{%- endmacro %}

{% macro default__create_build_state() -%}
{%- endmacro %}

{#- One Parquet file. -#}
{% macro parquet_file(path) -%}
    {{ return(adapter.dispatch('parquet_file')(path)) }}
{%- endmacro %}

{% macro default__parquet_file(path) -%}
    read_parquet('{{ path }}')
{%- endmacro %}

{#- The Parquet files in the folders `column=value` of a folder, the value as a column. -#}
{% macro parquet_folders(path) -%}
    {{ return(adapter.dispatch('parquet_folders')(path)) }}
{%- endmacro %}

{% macro default__parquet_folders(path) -%}
    read_parquet('{{ path }}/*/*.parquet', hive_partitioning = true)
{%- endmacro %}

{#- The lines of a text file; where the engine reads it whole, in one row. -#}
{% macro text_lines(path) -%}
    {{ return(adapter.dispatch('text_lines')(path)) }}
{%- endmacro %}

{% macro default__text_lines(path) -%}
    (select content from read_text('{{ path }}'))
{%- endmacro %}
