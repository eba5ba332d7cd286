{#- What dbt-spark does otherwise than this project needs it. Strings keep their
    backslashes (spark.sql.parser.escapedStringLiterals, in profiles.yml), so that a pattern
    is written once for both engines. -#}

{#- Text in quotes; `''` is no quote for every Spark, so one that is needed stands in
    quotes of the other kind. -#}
{% macro spark__escape_single_quotes(expression) -%}
    {{ return(expression | replace("'", "' || \"'\" || '")) }}
{%- endmacro %}

{#- The types that contracts, seeds and fixtures are written in. -#}
{% macro spark__type(data_type) -%}
    {{ return({
        'varchar': 'string',
        'json': 'string',
        'timestamp with time zone': 'timestamp',
        'timestamptz': 'timestamp',
    }.get(data_type | lower, data_type)) }}
{%- endmacro %}

{% macro spark__get_empty_schema_sql(columns) -%}
    select
    {%- for column in columns.values() %}
        cast(null as {{ spark__type(column.data_type) }}) as {{ column.name }}
        {{- ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}

{#- A seed's values as literals of the declared types; dbt-spark pastes them unescaped. -#}
{% macro spark__create_csv_table(model, agate_table) %}
    {%- set sql = 'create table ' ~ this ~ ' ' ~ file_format_clause() ~ ' as '
        ~ spark__seed_rows(model, agate_table) -%}
    {%- call statement('_') -%}{{ sql }}{%- endcall -%}
    {{ return(sql) }}
{% endmacro %}

{% macro spark__load_csv_rows(model, agate_table) %}
    {{ return('') }}
{% endmacro %}

{% macro spark__seed_rows(model, agate_table) -%}
    {%- set types = model.config.get('column_types', {}) -%}
    select
    {%- for name in agate_table.column_names %}
        cast({{ name }} as {{ spark__type(
            types.get(name, adapter.convert_type(agate_table, loop.index0))
        ) }}) as {{ name }}{{ ',' if not loop.last }}
    {%- endfor %}
    from values
    {%- for row in agate_table.rows %}
        (
            {%- for value in row -%}
                {{ 'null' if value is none
                    else string_literal(escape_single_quotes(value | string)) }}
                {{- ', ' if not loop.last }}
            {%- endfor -%}
        ){{ ',' if not loop.last }}
    {%- endfor %}
    as seed ({{ agate_table.column_names | join(', ') }})
{%- endmacro %}


{#- As replace_view does: Iceberg's catalog keeps the old text of a view. -#}
{% macro spark__create_view_as(relation, sql) -%}
    {%- do run_query('drop view if exists ' ~ relation) -%}
    create view {{ relation }} as {{ sql }}
{%- endmacro %}


{#- What keeps the rows of earlier builds is partitioned by the key that a build replaces
    it by. -#}
{% macro spark__partition_cols(label, required=false) -%}
    {%- if config.get('materialized') == 'incremental' -%}
        {{ label }} ({{ config.get('unique_key') }})
    {%- endif -%}
{%- endmacro %}

{% macro dbt_spark_validate_get_incremental_strategy(raw_strategy, file_format) -%}
    {{ return(raw_strategy) }}
{%- endmacro %}

{% macro dbt_spark_get_incremental_sql(
    strategy, source, target, existing, unique_key, incremental_predicates
) -%}
    {{ spark__replace_batch(source, target, unique_key) }}
{%- endmacro %}

{#- Not every format keeps constraints: check_constraints looks at the rows. -#}
{% macro spark__persist_constraints(relation, model) %}
{% endmacro %}
