{#- Tables and files, statements and settings. -#}

{#- Spark plans a view anew in each of its readers (the examples' build took 221 s with
    views, 159 s with tables); its metastore may hold no more than 32,700 characters of a
    view (Derby), and lose a backslash of it (Iceberg's). -#}
{% macro spark__view_of_step() -%}
    {{ return('table') }}
{%- endmacro %}

{#- Not every format keeps constraints, so one query looks at the rows of this build. -#}
{% macro spark__check_constraints(relation, node) -%}
    {%- set rules = {} -%}
    {%- for constraint in node.constraints if constraint.type == 'check' -%}
        {%- do rules.update({constraint.name or constraint.expression: constraint.expression}) -%}
    {%- endfor -%}
    {%- for column in node.columns.values() -%}
        {%- for constraint in column.constraints -%}
            {%- if constraint.type == 'check' -%}
                {%- do rules.update({constraint.expression: constraint.expression}) -%}
            {%- elif constraint.type == 'not_null' -%}
                {%- set rule = column.name ~ ' is not null' -%}
                {%- do rules.update({rule: rule}) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if execute and rules -%}
        {%- set conditions = rules.values() | list -%}
        {%- set listed = run_query(
            'select ' ~ conditions | join(', ') ~ ' from ' ~ relation
            ~ ' where not ((' ~ conditions | join(') and (') ~ '))'
            ~ (' and ' ~ in_stored_batch(node.config.meta.batch, node.config.unique_key)
                if node.config.materialized == 'incremental' else '')
            ~ ' limit 1'
        ) -%}
        {%- for row in listed.rows -%}
            {%- set broken = [] -%}
            {%- for name in rules -%}
                {%- if row[loop.index0] is false -%}{%- do broken.append(name) -%}{%- endif -%}
            {%- endfor -%}
            {{ exceptions.raise_compiler_error(
                relation ~ ' has a row in which this does not hold: ' ~ broken | join('; ')
            ) }}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}

{#- Spark has settings of its own for this. -#}
{% macro spark__limit_threads() -%}
{%- endmacro %}

{% macro spark__run_together(statements) -%}
    {%- for statement in statements -%}{%- do run_query(statement) -%}{%- endfor -%}
{%- endmacro %}

{#- A Parquet table can only be written anew, and not while it is read: its rows go to
    `__next` and back. -#}
{% macro spark__replace_rows(table, condition, rows) -%}
    {{ return([
        'insert overwrite table ' ~ table ~ '__next select * from ' ~ table
            ~ ' where not (' ~ condition ~ ') union all ' ~ rows,
        'insert overwrite table ' ~ table ~ ' select * from ' ~ table ~ '__next',
    ]) }}
{%- endmacro %}

{#- What the strategy `replace_batch` does on DuckDB: one MERGE where the table format has it (Iceberg, Delta),
    in which a row per replaced key meets every old row of it and deletes it, and new rows
    meet none; else the batch is computed into a table of its own, its partitions are dropped
    and written anew. A build that is killed between the two is not recorded, so that the
    next one computes the same batch. -#}
{% macro spark__replace_batch(source, target, key) %}
    {%- set replaced -%}
        select distinct {{ key }} from {{ target }} where {{ is_replaced(config.get('meta').batch, key) }}
    {%- endset -%}
    {%- set columns = adapter.get_columns_in_relation(target) | map(attribute='name') | list -%}
    {%- if config.get('file_format') in ('iceberg', 'delta') -%}
        merge into {{ target }} as stored
        using (
            select true as is_old, {{ key }} as old_key,
                {%- for column in columns %}
                null as {{ column }}{{ ',' if not loop.last }}
                {%- endfor %}
            from ({{ replaced }}) as replaced
            union all
            select false, null, {{ columns | join(', ') }} from {{ source }}
        ) as incoming
        on incoming.is_old and stored.{{ key }} = incoming.old_key
        when matched then delete
        when not matched and not incoming.is_old then
            insert ({{ columns | join(', ') }})
            values ({% for column in columns -%}
                incoming.{{ column }}{{ ', ' if not loop.last }}
            {%- endfor %})
    {%- else -%}
        {%- set next = target ~ '__next' -%}
        {%- set columns = columns | join(', ') -%}
        {%- do run_query('drop table if exists ' ~ next) -%}
        {%- do run_query(
            'create table ' ~ next ~ ' using parquet as select ' ~ columns ~ ' from ' ~ source
        ) -%}
        {%- set partitions = [] -%}
        {%- for row in run_query(replaced).rows -%}
            {#- literals side by side are one; an expression is none here -#}
            {%- set value = "'" ~ row[0] | replace("'", "' \"'\" '") ~ "'" -%}
            {%- do partitions.append('partition (' ~ key ~ ' = ' ~ value ~ ')') -%}
        {%- endfor -%}
        {%- if partitions -%}
            {%- do run_query(
                'alter table ' ~ target ~ ' drop if exists ' ~ partitions | join(', ')
            ) -%}
        {%- endif -%}
        {%- do run_query(
            'insert overwrite table ' ~ target ~ ' partition (' ~ key ~ ') select ' ~ columns
            ~ ' from ' ~ next
        ) -%}
        drop table {{ next }}
    {%- endif -%}
{% endmacro %}

{#- Iceberg's catalog keeps the old text of a view that is replaced, and says nothing. -#}
{% macro spark__replace_view(name, rows) -%}
    {%- do run_query('drop view if exists ' ~ name) -%}
    {%- do run_query('create view ' ~ name ~ ' as ' ~ rows) -%}
{%- endmacro %}

{% macro spark__create_build_state() -%}
    {%- do run_query('create schema if not exists raw') -%}
    {%- for name, columns in {
        'builds': 'built_at timestamp, project_hash string, last_load_id bigint,'
            ~ ' is_full_refresh boolean, promptlab_version string, invocation_id string',
        'task_builds': 'task_id string, title string, fingerprint string',
        'comparison_builds': 'candidate_task_id string, fingerprint string, built_at timestamp',
        'accepts': 'task_id string, accepted_at timestamp, reason string, cases string',
        'settings': 'file string, setting string, name string, value string,'
            ~ ' input_price double, output_price double, ends_on date, set_at timestamp',
    }.items() -%}
        {%- for table in (name, name ~ '__next') -%}
            {%- do run_query(
                'create table if not exists raw.' ~ table ~ ' (' ~ columns ~ ') using parquet'
            ) -%}
        {%- endfor -%}
    {%- endfor -%}
{%- endmacro %}

{#- A table over them: Spark would list files, and read their columns from one of them, each
    time that a query names a path. -#}
{% macro spark__parquet_file(path) -%}
    {%- set name = 'raw.files_of_' ~ path.split('/')[-1].split('.')[0] -%}
    {%- do run_query('drop table if exists ' ~ name) -%}
    {%- do run_query(
        'create table ' ~ name ~ " using parquet options (path '" ~ path ~ "')"
    ) -%}
    {{ return(name) }}
{%- endmacro %}

{% macro spark__parquet_folders(path) -%}
    {%- set name = spark__parquet_file(path) -%}
    {%- do run_query('msck repair table ' ~ name) -%}
    {{ return(name) }}
{%- endmacro %}

{% macro spark__text_lines(path) -%}
    text.`{{ path }}`
{%- endmacro %}
