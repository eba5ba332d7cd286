{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

with

checks as (select * from {{ ref('promptlab', 'stg_reported__checks') }} where {{ in_this_build() }})

select * from checks
