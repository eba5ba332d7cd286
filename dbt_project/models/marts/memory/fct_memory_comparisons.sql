{{ config(unique_key='candidate_run_id') }}

with

sums as (select * from {{ ref('int_memory_comparison_sums') }}),

described as (

    select
        *,
        is_right_metric or is_all_or_nothing as has_passes,
        case
            when n_shared = 0 then 'no_shared_question'
            when n_comparable = 0 then 'no_comparable_question'
            else 'no_paired_question'
        end as reason_without_pairs

    from sums

),

-- a family of tests: the categories of a pair and metric, and their groups
judged as (

    {{ judged_comparisons(
        'described',
        keys=['baseline_run_id', 'candidate_run_id', 'metric', 'category'],
        kept=['n_tasks', 'is_right_metric'],
        family=['baseline_run_id', 'candidate_run_id', 'metric'],
    ) | indent }}

),

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
