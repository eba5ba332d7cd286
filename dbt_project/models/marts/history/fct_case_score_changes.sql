{{ config(unique_key='candidate_task_id', meta={'batch': 'comparisons'}) }}

with

changes as (select * from {{ ref('int_case_score_changes') }})

select * from changes
