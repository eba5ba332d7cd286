{{ config(unique_key='candidate_task_id', meta={'batch': 'comparisons'}) }}

-- One row per compared pair of tasks: a task (the candidate) with its baseline task, or a pair that was requested.
with

pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
tasks as (select * from {{ ref('promptlab', 'int_tasks_resolved') }}),
changes as (select * from {{ ref('promptlab', 'int_cases_compared') }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimension_pairs') }}),
overall as (select * from {{ ref('promptlab', 'int_comparison_tests') }} where level = 'overall'),

case_counts as (

    select
        baseline_task_id,
        candidate_task_id,
        count(*) filter (where change = 'better') as n_better,
        count(*) filter (where change = 'worse') as n_worse,
        count(*) filter (where change = 'same') as n_same,
        count(*) filter (where change = 'added') as n_added,
        count(*) filter (where change = 'removed') as n_removed,
        count(*) filter (where change = 'not_comparable') as n_not_comparable,
        count(*) filter (where must_have_lost) as n_must_have_lost,
        count(*) filter (where must_have_gained) as n_must_have_gained,
        count(*) filter (where status_change = 'newly_failing') as n_newly_failing,
        count(*) filter (where status_change = 'newly_fixed') as n_newly_fixed,
        count(*) filter (where reason = 'inputs_differ') as n_inputs_differ,
        count(*) filter (where reason = 'expectations_differ') as n_expectations_differ,
        count(*) filter (where reason = 'references_differ') as n_references_differ,
        count(*) filter (where has_other_assertions) as n_assertions_differ

    from changes
    group by baseline_task_id, candidate_task_id

),

configs as (

    select
        baseline_task_id,
        candidate_task_id,
        {{ json_map_of(
            'dimension_id', 'reason', 'dimension_position, dimension_id', 'reason is not null'
        ) }} as dimensions_not_comparable,
        bool_or(reason is null and weight <> baseline_weight) as has_other_weights

    from dimensions
    group by baseline_task_id, candidate_task_id

),

final as (

    select

        ---------- ids
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        baseline_tasks.testset_id as baseline_testset_id,
        candidate_tasks.testset_id as candidate_testset_id,

        ---------- strings
        pairs.pair_source,
        overall.verdict,

        ---------- numerics
        coalesce(case_counts.n_better, 0) as n_better,
        coalesce(case_counts.n_worse, 0) as n_worse,
        coalesce(case_counts.n_same, 0) as n_same,
        coalesce(case_counts.n_added, 0) as n_added,
        coalesce(case_counts.n_removed, 0) as n_removed,
        coalesce(case_counts.n_not_comparable, 0) as n_not_comparable,
        coalesce(case_counts.n_must_have_lost, 0) as n_must_have_lost,
        coalesce(case_counts.n_must_have_gained, 0) as n_must_have_gained,
        coalesce(case_counts.n_newly_failing, 0) as n_newly_failing,
        coalesce(case_counts.n_newly_fixed, 0) as n_newly_fixed,
        coalesce(case_counts.n_inputs_differ, 0) as n_inputs_differ,
        coalesce(case_counts.n_expectations_differ, 0) as n_expectations_differ,
        coalesce(case_counts.n_references_differ, 0) as n_references_differ,
        coalesce(case_counts.n_assertions_differ, 0) as n_assertions_differ,

        ---------- booleans
        coalesce(configs.has_other_weights, false) as has_other_weights,

        ---------- json
        coalesce(configs.dimensions_not_comparable, cast('{}' as json))
            as dimensions_not_comparable

    from pairs
    inner join tasks as baseline_tasks on pairs.baseline_task_id = baseline_tasks.task_id
    inner join tasks as candidate_tasks on pairs.candidate_task_id = candidate_tasks.task_id
    inner join overall using (baseline_task_id, candidate_task_id)
    left join case_counts using (baseline_task_id, candidate_task_id)
    left join configs using (baseline_task_id, candidate_task_id)

)

select * from final
