{#- The incremental strategy `replace_batch`: delete and insert. dbt's delete+insert deletes the
    keys of the new rows; this deletes all keys of the batch, so a key without new rows loses
    its old ones, and the keys of tasks that are gone. -#}
{% macro get_incremental_replace_batch_sql(args) %}
    delete from {{ args.target_relation }}
    where {{ is_replaced(config.get('meta').batch, args.unique_key) }};

    {% set columns = args.dest_columns | map(attribute='quoted') | join(', ') -%}
    insert into {{ args.target_relation }} ({{ columns }})
    select {{ columns }} from {{ args.temp_relation }}
{% endmacro %}


{#- Changed models are refused before a build begins (check_build), so columns cannot differ. -#}
{% macro process_schema_changes(on_schema_change, source_relation, target_relation) -%}
    {{ return({}) }}
{%- endmacro %}
