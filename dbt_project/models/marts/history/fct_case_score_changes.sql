{{ config(unique_key='candidate_task_id', meta={'batch': 'comparisons'}) }}

-- One row per compared pair of tasks, case and dimension that both scored: the score before and after.
with

changes as (select * from {{ ref('promptlab', 'int_case_score_changes') }}),

final as (

    select

        ---------- ids
        baseline_task_id,
        candidate_task_id,
        case_id,
        dimension_id,

        ---------- numerics
        baseline_score,
        candidate_score,
        delta

    from changes

)

select * from final
