{#- Delete and insert. Unlike dbt's own delete+insert, this deletes the rows of everything
    in the batch, so what has no rows any more loses those it had; and of what is gone. -#}
{% macro get_incremental_replace_batch_sql(args) %}
    {{ replace_batch(args.target_relation, args.temp_relation, args.unique_key) }}
{% endmacro %}

{% macro replace_batch(target, source, key) %}
    delete from {{ target }}
    where {{ is_replaced(config.get('meta').batch, key) }};

    insert into {{ target }} by name
    select * from {{ source }}
{% endmacro %}


{#- The same on Spark: one MERGE where the table format has it (Iceberg, Delta), in which a
    row per replaced key meets every old row of it and deletes it, and new rows meet none;
    else the batch is computed into a table of its own, its partitions are dropped and
    written anew. A build that is killed between the two is not recorded, so that the next
    one computes the same batch. -#}
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


{#- What is stored and was computed again, or is computed no more. -#}
{% macro is_replaced(batch, key) -%}
    {{ in_stored_batch(batch, key) }}
    or {{ is_gone(batch, key) }}
{%- endmacro %}


{#- Tables have the columns that they should: those of other models are refused before a
    build begins (check_build), so none has to be described to see that. -#}
{% macro process_schema_changes(on_schema_change, source_relation, target_relation) -%}
    {{ return({}) }}
{%- endmacro %}
