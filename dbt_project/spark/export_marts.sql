{#- Every mart as Parquet below a folder that the engine can reach, and in `columns` what
    their contracts say of them, as JSON lines: for `promptlab export`, by run-operation. -#}
{% macro export_marts(folder) %}
    {%- set columns = [] -%}
    {%- for node in graph.nodes.values()
        if node.resource_type == 'model' and node.schema == 'marts' -%}
        {%- do run_query(
            "insert overwrite directory '" ~ folder ~ '/marts/' ~ node.alias
            ~ "' using parquet select * from marts." ~ node.alias
        ) -%}
        {%- for column in node.columns.values() -%}
            {%- do columns.append(
                "('" ~ node.alias ~ "', " ~ loop.index ~ ", '" ~ column.name ~ "', '"
                ~ column.data_type ~ "')"
            ) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do run_query(
        "insert overwrite directory '" ~ folder ~ "/columns' using json"
        ~ ' select * from values ' ~ columns | join(', ')
        ~ ' as columns (table_name, position, name, data_type)'
    ) -%}
{% endmacro %}
