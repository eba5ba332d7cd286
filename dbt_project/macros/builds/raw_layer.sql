{#- The raw layer where it is Parquet files (`promptlab ingest --sink`): views that read
    them in place, as its manifest says at the start of this build. Nothing where the
    raw tables are in the warehouse. -#}
{% macro register_raw() -%}
    {%- if execute -%}
        {%- do create_build_state() -%}
        {%- set folder = env_var('PROMPTLAB_RAW', '') | replace('parquet://', '') -%}
        {%- if folder -%}
            {%- set manifest = fromjson(run_query(
                'select * from ' ~ text_lines(folder ~ '/manifest.json')
            ).rows[0][0]) -%}
            {%- set snapshot = folder ~ '/snapshots/' ~ manifest.snapshot -%}
            {%- set loads = parquet_file(snapshot ~ '/loads.parquet') -%}
            {%- set objects = parquet_file(snapshot ~ '/objects.parquet') -%}
            {%- set of_snapshot = {'loads': loads, 'objects': objects} -%}
            {%- for name, table in manifest.tables.items() -%}
                {%- set files = of_snapshot.get(name) or parquet_folders(folder ~ '/tables/' ~ name) -%}
                {%- set is_whole = name in of_snapshot or 'load_id' not in table.columns -%}
                {%- do replace_view(
                    'raw.' ~ name, select_from_raw(files, table, none if is_whole else loads)
                ) -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}


{#- The rows of a raw table, of loads that the snapshot names. -#}
{% macro select_from_raw(files, table, loads) -%}
    select
    {%- for column, data_type in table.columns.items() %}
        {%- set value = 'stored.' ~ adapter.quote(column) %}
        {{ 'cast(' ~ value ~ ' as ' ~ ('json' if target.type == 'duckdb' else 'string') ~ ')'
            if data_type == 'JSON'
            else 'cast(' ~ value ~ ' as bigint)' if data_type == 'BIGINT'
            else value }} as {{ adapter.quote(column) }}
        {{- ',' if not loop.last }}
    {%- endfor %}
    from {{ files }} as stored
    {%- if loads %}
    where stored.load_id in (select loads.load_id from {{ loads }} as loads)
    {%- endif %}
{%- endmacro %}
