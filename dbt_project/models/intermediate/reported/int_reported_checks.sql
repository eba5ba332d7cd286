{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per assertion of another tool on a round, as its file has it.
with

checks as (select * from {{ ref('promptlab', 'stg_reported__checks') }} where {{ in_this_build() }})

select * from checks
