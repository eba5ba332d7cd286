{#- The models that compute one batch and keep what earlier builds computed. -#}
{% macro models_kept() %}
    {{ return(models_and_seeds()
        | selectattr('config.materialized', 'equalto', 'incremental') | list) }}
{% endmacro %}


{#- Of this project, also where it is a package of another. -#}
{% macro models_and_seeds() %}
    {{ return(graph.nodes.values()
        | selectattr('package_name', 'equalto', 'promptlab')
        | selectattr('resource_type', 'in', ['model', 'seed']) | list) }}
{% endmacro %}


{#- Those that a build leaves out. -#}
{% macro names_left_out(nodes) %}
    {{ return(nodes
        | rejectattr('unique_id', 'in', selected_resources) | map(attribute='name') | list) }}
{% endmacro %}


{#- Before a build: what is stored must have been computed by the logic that is there now,
    and a full refresh must be one of everything. -#}
{% macro check_build() %}
    {%- if execute and flags.WHICH in ('build', 'run') -%}
        {%- set last = run_query(
            'select project_hash from ' ~ source('raw', 'builds') ~ ' order by built_at desc limit 1'
        ) -%}
        {%- set missing = [] -%}
        {%- for node in models_kept() if not relation_that_is_there(node) -%}
            {%- do missing.append(node.name) -%}
        {%- endfor -%}
        {%- if flags.FULL_REFRESH -%}
            {%- if names_left_out(models_and_seeds()) -%}
                {{ exceptions.raise_compiler_error(
                    'a full refresh is of everything, policy too: `dbt build --full-refresh`,'
                    ~ ' without --select and --exclude'
                ) }}
            {%- endif -%}
        {%- elif last.rows | length == 0 -%}
            {#- what an unfinished first build left -#}
            {%- for node in models_and_seeds() -%}
                {%- set relation = relation_that_is_there(node) -%}
                {%- if relation -%}{%- do adapter.drop_relation(relation) -%}{%- endif -%}
            {%- endfor -%}
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
        {%- if flags.FULL_REFRESH -%}
            {{ run_together(forget_builds()) }}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{#- The table or view of a node; none if it is not there. -#}
{% macro relation_that_is_there(node) %}
    {{ return(adapter.get_relation(node.database, node.schema, node.alias)) }}
{% endmacro %}


{#- Nothing counts as built any more, so that a build computes everything. -#}
{% macro forget_builds() %}
    {%- set statements = [] -%}
    {%- for state in ('task_builds', 'comparison_builds') -%}
        {%- do statements.append('truncate table ' ~ source('raw', state)) -%}
    {%- endfor -%}
    {{ return(statements) }}
{% endmacro %}


{#- After a build without a fault: what it was made of. Everything counts as built when all
    that computes ran (views and seeds stay as they are between full refreshes); comparisons
    also when theirs ran alone, over tasks of which none waits to be built. -#}
{% macro record_build(results) %}
    {%- set faults = results | selectattr('status', 'in', ['error', 'fail', 'skipped']) | list -%}
    {%- if execute and flags.WHICH in ('build', 'run') and not faults -%}
        {%- set computing = models_and_seeds()
            | selectattr('config.materialized', 'in', ['table', 'incremental']) | list -%}
        {%- set comparing = models_kept()
            | selectattr('config.meta.batch', 'equalto', 'comparisons') | list
            + models_and_seeds() | selectattr('name', 'equalto', 'int_comparisons_to_build') | list -%}
        {%- if not names_left_out(computing) -%}
            {#- the build first: where these are no transaction, a kill between them
                leaves batches to compute again, not tables that nothing fills -#}
            {{ run_together([remember_build(
                flags.FULL_REFRESH | lower,
                "nullif('" ~ env_var('PROMPTLAB_VERSION', '') ~ "', '')",
                "'" ~ invocation_id ~ "'",
            )] + remember_batches()) }}
        {%- elif not names_left_out(comparing) and not tasks_wait() -%}
            {{ run_together(remember_batch('comparisons')) }}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{#- Whether a task is there in another version than the one that was built. -#}
{% macro tasks_wait() %}
    {%- set waiting = run_query(
        'select 1 from ' ~ relation_of('int_task_versions') ~ ' as versions'
        ~ ' left join ' ~ source('raw', 'task_builds') ~ ' as built'
        ~ ' on versions.task_id = built.task_id and versions.fingerprint = built.fingerprint'
        ~ ' where built.task_id is null limit 1'
    ) -%}
    {{ return(waiting.rows | length > 0) }}
{% endmacro %}


{#- What a build was made of; the arguments are SQL. It is later than each
    build and request before it, also after the clock was put back. -#}
{% macro remember_build(is_full_refresh, promptlab_version, id) %}
    {{ return(
        'insert into ' ~ source('raw', 'builds')
        ~ ' select greatest(current_timestamp,'
        ~ ' (select max(built_at) + interval 1 microsecond from ' ~ source('raw', 'builds') ~ '),'
        ~ ' (select max(accepted_at) from ' ~ source('raw', 'accepts') ~ '),'
        ~ ' (select max(requested_at) from ' ~ source('raw', 'requested_comparisons') ~ ')),'
        ~ ' \'' ~ project_hash() ~ '\','
        ~ ' coalesce((select max(load_id) from ' ~ source('raw', 'loads') ~ '), 0), '
        ~ [is_full_refresh, promptlab_version, id] | join(', ')
    ) }}
{% endmacro %}


{#- Statements after which all tasks and comparisons count as built. -#}
{% macro remember_batches() %}
    {{ return(remember_batch('tasks') + remember_batch('comparisons')) }}
{% endmacro %}


{#- Statements that record the hashes of one batch as built. -#}
{% macro remember_batch(of) %}
    {%- set batch = batches()[of] -%}
    {{ return(replace_rows(
        source('raw', batch.state),
        in_stored_batch(of, batch.key),
        'select ' ~ ([batch.key] + batch.facts) | join(', ')
        ~ ' from ' ~ relation_of(batch.model) ~ ' where fingerprint is not null'
    )) }}
{% endmacro %}
