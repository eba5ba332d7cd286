{{ config(materialized='table') }}

with

baselines as (select * from {{ ref('promptlab', 'int_task_baselines') }})

select * from baselines
