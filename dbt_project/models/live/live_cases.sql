{{ config(alias='cases') }}

with

source as (select * from {{ source('raw', 'cases') }}),
objects as (select * from {{ ref('promptlab', 'live_objects') }} where kind = 'task'),

whole as (

    select source.*

    from source
    inner join objects
        on
            source.load_id = objects.load_id
            and source.task_id = objects.object_id
            and objects.n_loads = 1

),

-- of a run in several files the newest file counts that has a case
newest as (

    select
        source.task_id,
        source.case_id,
        max(source.load_id) as load_id

    from source
    inner join objects
        on
            source.load_id = objects.load_id
            and source.task_id = objects.object_id
            and objects.n_loads > 1
    group by source.task_id, source.case_id

),

parts as (

    select source.*

    from source
    inner join newest using (task_id, case_id, load_id)

),

cases as (

    select * from whole

    union all

    select * from parts

)

select * from cases
