{{ config(materialized='table') }}

with

baselines as (select * from {{ ref('int_task_baselines') }})

select * from baselines
