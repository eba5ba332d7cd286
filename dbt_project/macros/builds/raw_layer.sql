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
            {%- set live = parquet_file(snapshot ~ '/live.parquet') -%}
            {%- for name, table in manifest.tables.items() -%}
                {%- set files = loads if name == 'loads'
                    else parquet_folders(folder ~ '/tables/' ~ name) -%}
                {%- do replace_view('raw.' ~ name, select_from_raw(files, table, loads, live)) -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}


{#- The rows of a raw table that count: of loads that the snapshot names and, where rows
    belong to an object that may be loaded again, of its newest load. -#}
{% macro select_from_raw(files, table, loads, live) -%}
    {%- set owner = table.lives_by -%}
    select
    {%- for column, data_type in table.columns.items() %}
        {%- set value = 'stored.' ~ adapter.quote(column) %}
        {{ as_json(value) if data_type == 'JSON'
            else 'cast(' ~ value ~ ' as bigint)' if data_type == 'BIGINT'
            else value }} as {{ adapter.quote(column) }}
        {{- ',' if not loop.last }}
    {%- endfor %}
    from {{ files }} as stored
    {%- if owner %}
    where exists (
        select 1 from {{ live }} as live
        where
            live.kind = '{{ owner.kind }}'
            and live.load_id = stored.load_id
            {%- for column in owner.key %}
            and live.id_{{ loop.index }} = stored.{{ column }}
            {%- endfor %}
    )
    {%- elif files != loads and 'load_id' in table.columns %}
    where stored.load_id in (select loads.load_id from {{ loads }} as loads)
    {%- endif %}
{%- endmacro %}
