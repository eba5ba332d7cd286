{{ config(alias='rounds') }}

-- One row per round: of the files that have it, the newest counts.
with

loaded as (select * from {{ source('raw', 'rounds') }} where {{ is_live(of='task') }}),
superseded as (select * from {{ ref('promptlab', 'live_superseded') }}),

rounds as (

    select loaded.*

    from loaded
    left join superseded using (load_id, task_id, case_id, round_id)
    where superseded.load_id is null

)

select * from rounds
