-- One row per compared pair of tasks and subject (the overall score, a dimension or a tag): counts,
-- means and spread of the scores of its cases, which int_comparison_tests tests.
with

units as (select * from {{ ref('promptlab', 'int_comparison_units') }}),

in_millionths as (

    select
        *,
        cast(round(delta * 1000000) as decimal(18, 0)) as millionths

    from units

),

totals as (

    select
        baseline_task_id,
        candidate_task_id,
        level,
        subject,
        count(*) filter (where is_shared) as n_shared,
        count(*) filter (where is_comparable) as n_comparable,
        count(delta) as n_pairs,
        count(*) filter (where delta > 0) as n_better,
        count(*) filter (where delta < 0) as n_worse,
        count(*) filter (where delta = 0) as n_same,
        count(status_change) as n_judged,
        count(*) filter (where status_change = 'newly_failing') as n_lost,
        count(*) filter (where status_change = 'newly_fixed') as n_gained,
        {{ exact_sum('case when delta is not null then baseline_score end') }} as baseline_total,
        {{ exact_sum('case when delta is not null then candidate_score end') }}
            as candidate_total,
        avg(baseline_metric) as baseline_metric,
        avg(candidate_metric) as candidate_metric,
        {{ exact_sum('delta') }} as delta_total,
        sum(millionths) as millionths_total,
        sum(millionths * millionths) as squares_total,
        -- whether every score of either side is 0 or 1
        bool_and(baseline_score in (0, 1) and candidate_score in (0, 1)) as is_all_or_nothing

    from in_millionths
    group by baseline_task_id, candidate_task_id, level, subject

),

-- cases of one cluster rise and fall together
clustered as (

    {{ cluster_errors(
        'units', 'baseline_task_id, candidate_task_id, level, subject', 'delta'
    ) | indent(4) }}
    having count(*) < max(n_all)

),

summed as (

    select

        ---------- ids
        totals.baseline_task_id,
        totals.candidate_task_id,
        totals.level,
        totals.subject,

        ---------- numerics
        totals.n_shared,
        totals.n_comparable,
        totals.n_pairs,
        totals.n_better,
        totals.n_worse,
        totals.n_same,
        totals.baseline_total / nullif(totals.n_pairs, 0) as baseline_mean,
        totals.candidate_total / nullif(totals.n_pairs, 0) as candidate_mean,
        totals.baseline_metric,
        totals.candidate_metric,
        totals.delta_total / nullif(totals.n_pairs, 0) as mean_delta,
        -- of whole millionths: equal scores spread by exactly 0, in any order of the rows
        sqrt(
            cast(totals.n_pairs * totals.squares_total - totals.millionths_total * totals.millionths_total as double)
            / nullif(totals.n_pairs * (totals.n_pairs - 1e0), 0)
        ) / 1e6 as sd,
        totals.n_judged,
        totals.n_lost,
        totals.n_gained,
        clustered.n_clusters,
        clustered.standard_error as cluster_error,

        ---------- booleans
        totals.is_all_or_nothing

    from totals
    left join clustered using (baseline_task_id, candidate_task_id, level, subject)

)

select * from summed
