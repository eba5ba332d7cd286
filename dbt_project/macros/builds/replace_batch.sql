{#- The incremental strategy `replace_batch`: delete and insert. dbt's delete+insert deletes the
    keys of the new rows; this deletes all keys of the batch, so a key without new rows loses
    its old ones, and the keys of tasks that are gone. -#}
{% macro get_incremental_replace_batch_sql(args) %}
    {{ duckdb__replace_batch(args.target_relation, args.temp_relation, args.unique_key) }}
{% endmacro %}


{% macro duckdb__replace_batch(target, source, key) %}
    delete from {{ target }}
    where {{ is_replaced(config.get('meta').batch, key) }};

    insert into {{ target }} by name
    select * from {{ source }}
{% endmacro %}


{#- Changed models are refused before a build begins (check_build), so columns cannot differ. -#}
{% macro process_schema_changes(on_schema_change, source_relation, target_relation) -%}
    {{ return({}) }}
{%- endmacro %}
