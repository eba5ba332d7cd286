{{ config(unique_key='candidate_run_id') }}

with

judged as (select * from {{ ref('int_memory_comparisons_judged') }}),
verdicts as (select * from {{ ref('comparison_verdicts') }}),
reasons as (select * from {{ ref('comparison_reasons') }}),

final as (

    select

        ---------- ids
        judged.baseline_run_id,
        judged.candidate_run_id,
        judged.metric,
        judged.category,

        ---------- strings
        judged.verdict,
        judged.reason,
        {{ comparison_sentence('zh', 'questions') }} as conclusion,
        {{ comparison_sentence('en', 'questions') }} as conclusion_en,

        ---------- numerics
        judged.n_pairs,
        judged.n_tasks,
        judged.n_better,
        judged.n_worse,
        judged.n_same,
        judged.baseline_score,
        judged.candidate_score,
        judged.delta,
        judged.sd,
        judged.ci_low,
        judged.ci_high,
        judged.p_value,
        judged.p_adjusted,
        judged.smallest_detectable,
        judged.n_judged,
        judged.n_lost,
        judged.n_gained,
        judged.mcnemar_p,

        ---------- booleans
        judged.is_right_metric

    from judged
    inner join verdicts using (verdict)
    left join reasons using (reason)

)

select * from final
