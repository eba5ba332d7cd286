{{ config(alias='superseded', materialized='table') }}

-- One row per load and case, or round, that a newer load of the same task has, too: the older row does not
-- count. A case has no `round_id`.
with

parts as (select * from {{ ref('promptlab', 'live_objects') }} where kind = 'task' and n_loads > 1),
raw_cases as (select * from {{ source('raw', 'cases') }}),
raw_rounds as (select * from {{ source('raw', 'rounds') }}),

cases as (

    select
        raw_cases.load_id,
        raw_cases.task_id,
        raw_cases.case_id,
        max(raw_cases.load_id) over (partition by raw_cases.task_id, raw_cases.case_id)
            as newest_load_id

    from raw_cases
    inner join parts on raw_cases.load_id = parts.load_id and raw_cases.task_id = parts.object_id

),

rounds as (

    select
        raw_rounds.load_id,
        raw_rounds.task_id,
        raw_rounds.case_id,
        raw_rounds.round_id,
        max(raw_rounds.load_id) over (
            partition by raw_rounds.task_id, raw_rounds.case_id, raw_rounds.round_id
        ) as newest_load_id

    from raw_rounds
    inner join parts on raw_rounds.load_id = parts.load_id and raw_rounds.task_id = parts.object_id

),

superseded as (

    select
        load_id,
        task_id,
        case_id,
        cast(null as string) as round_id

    from cases
    where load_id < newest_load_id

    union all

    select
        load_id,
        task_id,
        case_id,
        round_id

    from rounds
    where load_id < newest_load_id

)

select * from superseded
