{{ config(unique_key='candidate_task_id', meta={'batch': 'comparisons'}) }}

-- One row per compared pair of tasks and tag: how the overall score of the cases with the tag changed.
with

comparisons as (select * from {{ ref('promptlab', 'int_comparison_tests') }} where level = 'tag'),

final as (

    select

        ---------- ids
        baseline_task_id,
        candidate_task_id,
        subject as tag,

        ---------- strings
        verdict,
        reason,

        ---------- numerics
        n_pairs,
        n_better,
        n_worse,
        n_same,
        n_clusters,
        baseline_score,
        candidate_score,
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
