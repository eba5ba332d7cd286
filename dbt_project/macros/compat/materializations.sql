{#- How DuckDB writes a node: in one statement, where dbt's own ways rename and drop what was
    there beside it. Views and seeds stay while the project is the same (check_build). In a
    project that has this one as a package dbt takes its own ways; they leave the same. -#}
{% materialization view, adapter='duckdb' %}
    {%- set there = load_cached_relation(this) -%}
    {%- if is_of_this_project(there) -%}
        {{ return(left_as_it_is(there)) }}
    {%- endif -%}
    {{ return(written('view', dropped(there) ~ create_view_as(this, compiled_code))) }}
{% endmaterialization %}


{% materialization table, adapter='duckdb' %}
    {%- set there = load_cached_relation(this) -%}
    {{ return(written('table', dropped(there) ~ create_table_as(false, this, compiled_code))) }}
{% endmaterialization %}


{% materialization incremental, adapter='duckdb' %}
    {%- set there = load_cached_relation(this) -%}
    {%- if there is none or not there.is_table or should_full_refresh() -%}
        {{ return(materialization_table_duckdb()) }}
    {%- endif -%}
    {{ return(written('table', duckdb__replace_batch(
        this, '(' ~ compiled_code ~ ')', config.get('unique_key')
    ))) }}
{% endmaterialization %}


{% materialization seed, adapter='duckdb' %}
    {%- set there = load_cached_relation(this) -%}
    {%- if is_of_this_project(there) -%}
        {{ return(left_as_it_is(there)) }}
    {%- endif -%}
    {{ return(materialization_seed_default()) }}
{% endmaterialization %}


{#- A build refuses what other logic made, and drops what an unfinished first one left. -#}
{% macro is_of_this_project(there) %}
    {{ return(there is not none and flags.WHICH in ('build', 'run') and not should_full_refresh()) }}
{% endmacro %}


{% macro left_as_it_is(there) %}
    {%- do store_result('main', response='as it was') -%}
    {%- do store_result('agate_table', response='as it was') -%}
    {{ return({'relations': [there]}) }}
{% endmacro %}


{% macro dropped(there) %}
    {%- if there is not none -%} drop {{ there.type }} {{ there }}; {% endif -%}
{% endmacro %}


{% macro written(type, statements) %}
    {{ run_hooks(pre_hooks) }}
    {%- call statement('main') -%}{{ statements }}{%- endcall -%}
    {{ run_hooks(post_hooks) }}
    {%- do adapter.commit() -%}
    {{ return({'relations': [this.incorporate(type=type)]}) }}
{% endmacro %}


{#- Delete and insert. Unlike dbt's own delete+insert, this deletes the rows of everything
    in the batch, so what has no rows any more loses those it had; and of what is gone. -#}
{% macro get_incremental_replace_batch_sql(args) %}
    {{ duckdb__replace_batch(args.target_relation, args.temp_relation, args.unique_key) }}
{% endmacro %}


{% macro duckdb__replace_batch(target, source, key) %}
    delete from {{ target }}
    where {{ is_replaced(config.get('meta').batch, key) }};

    insert into {{ target }} by name
    select * from {{ source }}
{% endmacro %}


{#- Tables have the columns that they should: those of other models are refused before a
    build begins (check_build), so none has to be described to see that. -#}
{% macro process_schema_changes(on_schema_change, source_relation, target_relation) -%}
    {{ return({}) }}
{%- endmacro %}
