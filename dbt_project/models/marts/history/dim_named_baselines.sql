{{ config(materialized='table') }}

with

baselines as (select * from {{ ref('promptlab', 'int_named_baselines') }})

select * from baselines
