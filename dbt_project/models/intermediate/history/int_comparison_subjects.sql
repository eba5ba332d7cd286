{{ config(materialized=view_of_step()) }}

-- One row per compared pair of tasks and subject (the overall score, a dimension or a tag) that its comparison answers,
-- also where no case is paired: the sums of its cases (int_comparison_sums), and what could be compared at all.
with

pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimension_pairs') }}),
sums as (select * from {{ ref('promptlab', 'int_comparison_sums') }}),

-- that nothing can be compared is an answer, too
subjects as (

    select
        baseline_task_id,
        candidate_task_id,
        'overall' as level,
        'overall' as subject,
        cast(null as string) as name,
        cast(null as bigint) as position,
        cast(null as string) as reason,
        false as is_weighed

    from pairs

    union all

    select
        baseline_task_id,
        candidate_task_id,
        'dimension' as level,
        dimension_id as subject,
        name,
        dimension_position as position,
        reason,
        reason is null and weight > 0 as is_weighed

    from dimensions

    union all

    select
        baseline_task_id,
        candidate_task_id,
        level,
        subject,
        subject as name,
        cast(null as bigint) as position,
        cast(null as string) as reason,
        false as is_weighed

    from sums
    where level = 'tag'

),

summed as (

    select
        subjects.*,
        coalesce(sums.n_pairs, 0) as n_pairs,
        coalesce(sums.n_better, 0) as n_better,
        coalesce(sums.n_worse, 0) as n_worse,
        coalesce(sums.n_same, 0) as n_same,
        sums.baseline_mean,
        sums.candidate_mean,
        sums.baseline_metric,
        sums.candidate_metric,
        sums.mean_delta,
        sums.sd,
        sums.n_judged,
        sums.n_lost,
        sums.n_gained,
        sums.n_clusters,
        sums.cluster_error,
        coalesce(sums.n_clusters, sums.n_pairs, 0) as n_independent,
        subjects.level <> 'dimension' or sums.is_all_or_nothing as has_passes,
        -- a dimension shares what the pair shares: its cases
        coalesce(
            case when subjects.level = 'dimension' then overall.n_shared else sums.n_shared end, 0
        ) as n_shared_cases,
        coalesce(
            case when subjects.level = 'dimension' then overall.n_comparable else sums.n_comparable end,
            0
        ) as n_comparable_cases,
        bool_or(subjects.is_weighed) over (
            partition by subjects.baseline_task_id, subjects.candidate_task_id
        ) as has_weighed_dimension

    from subjects
    left join sums using (baseline_task_id, candidate_task_id, level, subject)
    left join sums as overall
        on
            subjects.baseline_task_id = overall.baseline_task_id
            and subjects.candidate_task_id = overall.candidate_task_id
            and overall.level = 'overall'

)

select * from summed
