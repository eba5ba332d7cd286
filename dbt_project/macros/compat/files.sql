{#- Files as tables. Paths are ours, or the user's own option: they hold no quotes. -#}

{#- One Parquet file. -#}
{% macro parquet_file(path) -%}
    {{ return(adapter.dispatch('parquet_file')(path)) }}
{%- endmacro %}

{% macro default__parquet_file(path) -%}
    read_parquet('{{ path }}')
{%- endmacro %}

{% macro spark__parquet_file(path) -%}
    parquet.`{{ path }}`
{%- endmacro %}

{#- The Parquet files in the folders `column=value` of a folder, the value as a column. -#}
{% macro parquet_folders(path) -%}
    {{ return(adapter.dispatch('parquet_folders')(path)) }}
{%- endmacro %}

{% macro default__parquet_folders(path) -%}
    read_parquet('{{ path }}/*/*.parquet', hive_partitioning = true)
{%- endmacro %}

{% macro spark__parquet_folders(path) -%}
    parquet.`{{ path }}`
{%- endmacro %}

{#- The lines of a text file; where the engine reads it whole, in one row. -#}
{% macro text_lines(path) -%}
    {{ return(adapter.dispatch('text_lines')(path)) }}
{%- endmacro %}

{% macro default__text_lines(path) -%}
    (select content from read_text('{{ path }}'))
{%- endmacro %}

{% macro spark__text_lines(path) -%}
    text.`{{ path }}`
{%- endmacro %}
