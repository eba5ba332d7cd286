{#- After a model is written: what its contract says of single rows (check, not_null). An
    engine that looks at each row as it is written needs nothing more; on another one query
    looks at the rows of this build. -#}
{% macro check_constraints(relation, node) -%}
    {{ return(adapter.dispatch('check_constraints')(relation, node)) }}
{%- endmacro %}

{% macro duckdb__check_constraints(relation, node) -%}
{%- endmacro %}

{% macro default__check_constraints(relation, node) -%}
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
        {%- set found = run_query(
            'select ' ~ conditions | join(', ') ~ ' from ' ~ relation
            ~ ' where not ((' ~ conditions | join(') and (') ~ '))'
            ~ (' and ' ~ in_stored_batch(node.config.meta.batch, node.config.unique_key)
                if node.config.materialized == 'incremental' else '')
            ~ ' limit 1'
        ) -%}
        {%- for row in found.rows -%}
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
