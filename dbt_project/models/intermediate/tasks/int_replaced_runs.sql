{{ config(materialized=view_of_step()) }}

{%- set run_time = '[|][0-9]{4}-[0-9]{2}-[0-9]{2}T[^|]*$' %}

with

loads as (select * from {{ ref('promptlab', 'stg_loads__loads') }}),

objects as (

    select
        ingest_id,
        {{ unnested(json_text_elements('replaced')) }} as replaced

    from loads
    where status <> 'purged' and kind <> 'testset'

),

-- a task with the time of its earlier run
runs as (

    select
        {{ without_pattern('replaced', run_time) }} as task_id,
        max(ingest_id) as ingest_id

    from objects
    where replaced <> {{ without_pattern('replaced', run_time) }}
    group by {{ without_pattern('replaced', run_time) }}

)

select * from runs
