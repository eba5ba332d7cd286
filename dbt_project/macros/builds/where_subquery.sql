{#- A data test of a table that keeps what earlier builds computed looks at the rows of
    this build: the others were tested when they came. -#}
{% macro get_where_subquery(relation) %}
    {%- set node = graph.nodes.get('model.promptlab.' ~ relation.identifier) if execute -%}
    {%- set conditions = [config.get('where')] if config.get('where') else [] -%}
    {%- if node and node.config.materialized == 'incremental' and node.schema == relation.schema -%}
        {%- do conditions.append(in_stored_batch(node.config.meta.batch, node.config.unique_key)) -%}
    {%- endif -%}
    {%- if conditions -%}
        {{ return('(select * from ' ~ relation ~ ' where ' ~ conditions | join(' and ') ~ ')') }}
    {%- else -%}
        {{ return(relation) }}
    {%- endif -%}
{% endmacro %}
