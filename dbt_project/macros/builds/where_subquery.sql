{#- A data test of a table that keeps what earlier builds computed looks at the rows of
    this build: the others were tested when they came. -#}
{% macro get_where_subquery(relation) %}
    {%- set kept = (models_kept() if execute else [])
        | selectattr('schema', 'equalto', relation.schema)
        | selectattr('alias', 'equalto', relation.identifier)
        | first -%}
    {%- set conditions = [config.get('where')] if config.get('where') else [] -%}
    {%- if kept -%}
        {%- do conditions.append(in_stored_batch(kept.config.meta.batch, kept.config.unique_key)) -%}
    {%- endif -%}
    {%- if conditions -%}
        {{ return('(select * from ' ~ relation ~ ' where ' ~ conditions | join(' and ') ~ ')') }}
    {%- else -%}
        {{ return(relation) }}
    {%- endif -%}
{% endmacro %}
