{{ config(unique_key='candidate_run_id') }}

with

pairs as (
    select * from {{ ref('int_memory_run_pairs') }}
    where {{ in_this_build('memory_runs', 'candidate_run_id') }}
),
right_metrics as (
    select * from {{ ref('int_memory_right_metrics') }}
    where {{ in_this_build('memory_runs') }}
),
changes as (
    select * from {{ ref('fct_memory_question_changes') }}
    where {{ in_this_build('memory_runs', 'candidate_run_id') }}
),
overall as (
    select * from {{ ref('fct_memory_comparisons') }}
    where {{ in_this_build('memory_runs', 'candidate_run_id') }} and category = 'all'
),

counted as (

    select
        baseline_run_id,
        candidate_run_id,
        count(*) filter (where change = 'better') as n_better,
        count(*) filter (where change = 'worse') as n_worse,
        count(*) filter (where change = 'same') as n_same,
        count(*) filter (where change = 'added') as n_added,
        count(*) filter (where change = 'removed') as n_removed,
        count(*) filter (where change = 'not_comparable') as n_not_comparable,
        count(*) filter (where status_change = 'newly_failing') as n_newly_failing,
        count(*) filter (where status_change = 'newly_fixed') as n_newly_fixed

    from changes
    group by baseline_run_id, candidate_run_id

),

final as (

    select

        ---------- ids
        pairs.baseline_run_id,
        pairs.candidate_run_id,

        ---------- strings
        pairs.pair_source,
        right_metrics.right_metric as metric,
        overall.verdict,

        ---------- numerics
        coalesce(counted.n_better, 0) as n_better,
        coalesce(counted.n_worse, 0) as n_worse,
        coalesce(counted.n_same, 0) as n_same,
        coalesce(counted.n_added, 0) as n_added,
        coalesce(counted.n_removed, 0) as n_removed,
        coalesce(counted.n_not_comparable, 0) as n_not_comparable,
        coalesce(counted.n_newly_failing, 0) as n_newly_failing,
        coalesce(counted.n_newly_fixed, 0) as n_newly_fixed

    from pairs
    left join counted using (baseline_run_id, candidate_run_id)
    left join right_metrics on pairs.candidate_run_id = right_metrics.run_id
    left join overall
        on
            pairs.baseline_run_id = overall.baseline_run_id
            and pairs.candidate_run_id = overall.candidate_run_id
            and right_metrics.right_metric = overall.metric

)

select * from final
