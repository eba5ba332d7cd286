{#- The models that compute one batch and keep what earlier builds computed. -#}
{% macro models_kept() %}
    {{ return(graph.nodes.values()
        | selectattr('resource_type', 'equalto', 'model')
        | selectattr('config.materialized', 'equalto', 'incremental')
        | list) }}
{% endmacro %}


{#- Before a build: what is stored must have been computed by the logic that is there now,
    and a full refresh must be one of everything. -#}
{% macro check_build() %}
    {%- if execute and flags.WHICH in ('build', 'run') -%}
        {%- set last = run_query(
            'select project_hash from ' ~ source('raw', 'builds') ~ ' order by built_at desc limit 1'
        ) -%}
        {%- set missing, existing, unselected = [], [], [] -%}
        {%- for node in models_kept() -%}
            {%- set relation = adapter.get_relation(node.database, node.schema, node.alias) -%}
            {%- do (missing if relation is none else existing).append(relation or node.name) -%}
            {%- do unselected.append(node.name) if node.unique_id not in selected_resources -%}
        {%- endfor -%}
        {%- if flags.FULL_REFRESH -%}
            {%- if unselected -%}
                {{ exceptions.raise_compiler_error(
                    'a full refresh is of everything: leave --select and --exclude out'
                ) }}
            {%- endif -%}
        {%- elif last.rows | length == 0 -%}
            {#- what an unfinished first build left -#}
            {%- for relation in existing -%}{%- do adapter.drop_relation(relation) -%}{%- endfor -%}
        {%- elif last.rows[0][0] != project_hash() -%}
            {{ exceptions.raise_compiler_error(
                'the models, seeds or macros have changed since this warehouse was built:'
                ~ ' build it again from its raw tables with --full-refresh'
            ) }}
        {%- elif missing -%}
            {{ exceptions.raise_compiler_error(
                'these tables are gone: ' ~ missing | join(', ')
                ~ '. Build them again from the raw tables with --full-refresh'
            ) }}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{#- After a build without a fault: what it was made of. A batch counts as built when all of
    the models that compute it ran. -#}
{% macro record_build(results) %}
    {%- set faults = results | selectattr('status', 'in', ['error', 'fail', 'skipped']) | list -%}
    {%- if execute and flags.WHICH in ('build', 'run') and not faults -%}
        {%- set unselected = [] -%}
        {%- for node in models_kept() if node.unique_id not in selected_resources -%}
            {%- do unselected.append(node.config.meta.batch) -%}
        {%- endfor -%}
        {%- if 'tasks' not in unselected and 'titles' not in unselected -%}
            {{ remember_batch('tasks', source('raw', 'task_builds')) }}
        {%- endif -%}
        {%- if 'comparisons' not in unselected -%}
            {{ remember_batch('comparisons', source('raw', 'comparison_builds')) }}
        {%- endif -%}
        {%- if 'memory_runs' not in unselected -%}
            {{ remember_batch('memory_runs', source('raw', 'memory_builds')) }}
        {%- endif -%}
        {%- if not unselected -%}
            insert into {{ source('raw', 'builds') }}
            select
                current_timestamp,
                '{{ project_hash() }}',
                coalesce((select max(load_id) from {{ source('raw', 'loads') }}), 0),
                {{ 'true' if flags.FULL_REFRESH else 'false' }},
                nullif('{{ env_var("PROMPTLAB_VERSION", "") }}', ''),
                '{{ invocation_id }}';
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{% macro remember_batch(of, state) %}
    {%- set key, batch = batches()[of].key, batch_relation(of) -%}
    {%- set columns = [key, 'title', 'fingerprint'] if of == 'tasks' else [key, 'fingerprint'] -%}
    delete from {{ state }}
    where {{ 'true' if flags.FULL_REFRESH else in_stored_batch(of, key) }};
    insert into {{ state }}
    select {{ columns | join(', ') }} from {{ batch }}
    where fingerprint is not null;
{% endmacro %}
