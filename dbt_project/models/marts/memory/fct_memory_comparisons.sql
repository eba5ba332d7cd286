{{ config(unique_key='candidate_run_id') }}

with

judged as (select * from {{ ref('int_memory_comparisons_judged') }}),

final as (

    select

        ---------- ids
        baseline_run_id,
        candidate_run_id,
        metric,
        category,

        ---------- strings
        verdict,
        reason,

        ---------- numerics
        n_pairs,
        n_tasks,
        n_better,
        n_worse,
        n_same,
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
        margin,

        ---------- booleans
        is_right_metric

    from judged

)

select * from final
