{{ config(materialized='table') }}

with

baselines as (select * from {{ ref('int_named_baselines') }})

select * from baselines
