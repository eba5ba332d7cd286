{#- What a build computes: a batch is a model that lists its keys, and its column there;
    `all_model` has every key that is not gone, `state` remembers what was built. -#}
{% macro batches() %}
    {%- set tasks = {
        'model': 'int_tasks_to_build', 'all_model': 'int_task_versions',
        'state': 'task_builds', 'facts': ['title', 'fingerprint'],
    } -%}
    {%- set facts = ['fingerprint', 'current_timestamp'] -%}
    {{ return({
        'tasks': dict(tasks, key='task_id', all_key='task_id'),
        'titles': dict(tasks, key='title', all_key='title'),
        'memory_runs': {
            'model': 'int_memory_runs_to_build', 'key': 'run_id',
            'all_model': 'stg_memory__runs', 'all_key': 'run_id',
        },
        'comparisons': {
            'model': 'int_comparisons_to_build', 'key': 'candidate_task_id',
            'all_model': 'int_task_versions', 'all_key': 'task_id',
            'state': 'comparison_builds', 'facts': facts,
        },
    }) }}
{% endmacro %}


{#- The condition that a row belongs to what this build computes. Every import of a table
    that holds the whole history has it, in models that compute a part of it; so a build
    costs what is new, not what is stored. A unit test gives the rows that it means. -#}
{% macro in_this_build(of='tasks', column=none) -%}
    {%- if model.resource_type == 'unit_test' -%}
        true
    {%- else -%}
        {%- set batch = batches()[of] -%}
        {{ is_in_batch(column or batch.key, batch.key, ref('promptlab', batch.model)) }}
    {%- endif -%}
{%- endmacro %}


{#- The same for macros that run beside the models, which cannot use ref. -#}
{% macro in_stored_batch(of, column) -%}
    {%- set batch = batches()[of] -%}
    {{ is_in_batch(column, batch.key, relation_of(batch.model)) }}
{%- endmacro %}


{#- `dbt test` alone is of all rows: what was to build is built. -#}
{% macro is_in_batch(column, key, relation) -%}
    {%- if flags.WHICH == 'test' -%}
        true
    {%- else -%}
        {{ column }} in (select to_build.{{ key }} from {{ relation }} as to_build)
    {%- endif -%}
{%- endmacro %}


{#- What no build computes any more: a task that an unfinished build left, and that is gone
    since, is in no batch. -#}
{% macro is_gone(of, column) -%}
    {%- set batch = batches()[of] -%}
    {{ column }} not in (
        select alive.{{ batch.all_key }} from {{ relation_of(batch.all_model) }} as alive
    )
{%- endmacro %}


{#- What is stored and was computed again, or is computed no more. -#}
{% macro is_replaced(batch, key) -%}
    {{ in_stored_batch(batch, key) }}
    or {{ is_gone(batch, key) }}
{%- endmacro %}


{#- The relation of a model of staging or intermediate, by its name. -#}
{% macro relation_of(model_name) %}
    {%- set layer = 'staging' if model_name.startswith('stg_') else 'intermediate' -%}
    {{ return(api.Relation.create(
        database=target.database or none,
        schema=generate_schema_name(layer, none),
        identifier=model_name
    )) }}
{% endmacro %}
