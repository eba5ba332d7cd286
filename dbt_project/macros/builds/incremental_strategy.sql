{#- Delete and insert. Unlike dbt's own delete+insert, this deletes the rows of everything
    in the batch, so what has no rows any more loses those it had; and of what is gone. -#}
{% macro get_incremental_replace_batch_sql(args) %}
    {%- set columns = args.dest_columns | map(attribute='quoted') | join(', ') -%}
    delete from {{ args.target_relation }}
    where
        {{ in_stored_batch(config.get('meta').batch, args.unique_key) }}
        or {{ is_gone(config.get('meta').batch, args.unique_key) }};

    insert into {{ args.target_relation }} ({{ columns }})
    select {{ columns }} from {{ args.temp_relation }}
{% endmacro %}
