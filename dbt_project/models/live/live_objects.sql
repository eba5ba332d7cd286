{{ config(alias='objects', materialized='table') }}

-- One row per object (a task, a testset and others) and load that its rows are read from: the newest; of an
-- object in several files the newest of each file.
with

objects as (select * from {{ source('raw', 'objects') }}),
loads as (select * from {{ source('raw', 'loads') }} where status = 'loaded'),

-- a run of results, scores and labels may be in several files, each with a part of its own
loaded as (

    select
        objects.kind,
        objects.object_id,
        objects.load_id,
        objects.run_hash,
        objects.content_hash,
        objects.is_gone,
        loads.kind in ('results', 'scores', 'labels') as is_part,
        case when loads.kind in ('results', 'scores', 'labels') then loads.file_uri else '' end as holder

    from objects
    inner join loads using (load_id)

),

-- the same content in the next version of a file is no new version of the object
versions as (

    select
        *,
        coalesce(
            content_hash <> lag(content_hash) over (
                partition by kind, object_id, holder order by load_id
            ),
            true
        ) as is_new

    from loaded

),

ordered as (

    select
        *,
        row_number() over (partition by kind, object_id, holder order by load_id desc) as recency,
        min(load_id) over of_object as first_load_id,
        max(load_id) over of_object as newest_load_id,
        max(case when not is_part then load_id end) over of_object as newest_whole_load_id

    from versions
    where is_new
    window of_object as (partition by kind, object_id)

),

live as (

    select
        kind,
        object_id,
        load_id,
        run_hash,
        content_hash,
        load_id = newest_load_id as is_newest,
        first_load_id,
        count(*) over (partition by kind, object_id) as n_loads

    from ordered
    where
        recency = 1
        and not is_gone
        and case
            when is_part then load_id > coalesce(newest_whole_load_id, 0)
            else load_id = newest_load_id
        end

)

select * from live
