{{ config(materialized='table') }}

-- One row per task that is no re-check: the earlier task that it is compared with.
with

baselines as (select * from {{ ref('promptlab', 'int_task_baselines') }})

select * from baselines
