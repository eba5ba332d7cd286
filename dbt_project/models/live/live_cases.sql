{{ config(alias='cases') }}

-- One row per task and case: of the files that have the case, the newest counts.
with

loaded as (select * from {{ source('raw', 'cases') }} where {{ is_live(of='task') }}),
superseded as (select * from {{ ref('promptlab', 'live_superseded') }} where round_id is null),

cases as (

    select loaded.*

    from loaded
    left join superseded using (load_id, task_id, case_id)
    where superseded.load_id is null

)

select * from cases
