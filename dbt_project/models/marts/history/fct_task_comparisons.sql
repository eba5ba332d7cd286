{{ config(unique_key='candidate_task_id', meta={'batch': 'comparisons'}) }}

-- One row per compared pair of tasks and score: the overall one, and that of each dimension.
with

comparisons as (select * from {{ ref('promptlab', 'int_comparison_tests') }} where level <> 'tag'),

final as (

    select

        ---------- ids
        baseline_task_id,
        candidate_task_id,
        level,
        subject as dimension_id,

        ---------- strings
        name,
        verdict,
        reason,

        ---------- numerics
        position as dimension_position,
        n_pairs,
        n_better,
        n_worse,
        n_same,
        n_clusters,
        baseline_score,
        candidate_score,
        baseline_metric,
        candidate_metric,
        delta,
        sd,
        ci_low,
        ci_high,
        p_value,
        p_adjusted,
        smallest_detectable,
        n_judged,
        n_lost,
        n_gained,
        mcnemar_p,
        margin

    from comparisons

)

select * from final
