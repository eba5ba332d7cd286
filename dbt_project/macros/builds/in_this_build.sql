{#- What a build computes: a batch is a model that lists its keys, and its column there. -#}
{% macro batches() %}
    {{ return({
        'tasks': {'model': 'int_tasks_to_build', 'key': 'task_id'},
        'titles': {'model': 'int_tasks_to_build', 'key': 'title'},
        'comparisons': {'model': 'int_comparisons_to_build', 'key': 'candidate_task_id'},
        'memory_runs': {'model': 'int_memory_runs_to_build', 'key': 'run_id'},
    }) }}
{% endmacro %}


{#- The condition that a row belongs to what this build computes. Every import of a table
    that holds the whole history has it, in models that compute a part of it; so a build
    costs what is new, not what is stored. A unit test gives the rows that it means. -#}
{% macro in_this_build(of='tasks', column=none) -%}
    {%- set batch = batches()[of] -%}
    {%- if model.resource_type == 'unit_test' -%}
        true
    {%- else -%}
        {{ is_in_batch(column or batch.key, batch.key, ref(batch.model)) }}
    {%- endif -%}
{%- endmacro %}


{#- The same for macros that run beside the models, which cannot use ref. -#}
{% macro in_stored_batch(of, column) -%}
    {%- set batch = batches()[of] -%}
    {{ is_in_batch(column, batch.key, batch_relation(of)) }}
{%- endmacro %}


{% macro is_in_batch(column, key, relation) -%}
    {{ column }} in (select to_build.{{ key }} from {{ relation }} as to_build)
{%- endmacro %}


{% macro batch_relation(of) %}
    {{ return(api.Relation.create(
        database=target.database,
        schema=generate_schema_name('intermediate', none),
        identifier=batches()[of].model
    )) }}
{% endmacro %}


{#- On a full refresh nothing counts as built. -#}
{% macro unless_full_refresh() -%}
    {{ 'false' if flags.FULL_REFRESH else 'true' }}
{%- endmacro %}
