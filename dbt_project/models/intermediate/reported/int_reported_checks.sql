{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per assertion of another tool on a round, as in stg_reported__checks, but of the last build: fct_assertions
-- is a view, and would else show files that were loaded since. Models of a build read staging instead.
with

checks as (select * from {{ ref('promptlab', 'stg_reported__checks') }} where {{ in_this_build() }})

select * from checks
