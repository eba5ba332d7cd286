{{ config(materialized='view') }}

-- One row per round and expected value or container of its testset: expected against actual. Checks of tools:
-- fct_assertions.
with

checks as (select * from {{ ref('promptlab', 'int_check_results') }})

select * from checks
