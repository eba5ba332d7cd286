{{ config(materialized='view') }}

with

checks as (select * from {{ ref('int_check_results') }})

select * from checks
