{{ config(materialized='view') }}

with

checks as (select * from {{ ref('promptlab', 'int_check_results') }})

select * from checks
