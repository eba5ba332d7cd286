with

cases as (select * from {{ ref('int_cases_compared') }}),
score_changes as (select * from {{ ref('int_case_score_changes') }}),
tags as (
    select * from {{ ref('int_case_tags') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),
clusters as (
    select * from {{ ref('stg_tasks__cases') }}
    where cluster is not null and task_id in (select cases.candidate_task_id from cases)
),

units as (

    select
        baseline_task_id,
        candidate_task_id,
        'overall' as level,
        'overall' as subject,
        case_id,
        baseline_score,
        candidate_score,
        cast(null as double) as baseline_metric,
        cast(null as double) as candidate_metric,
        delta,
        is_comparable,
        status_change,
        change not in ('added', 'removed') as is_shared

    from cases

    union all

    select
        cases.baseline_task_id,
        cases.candidate_task_id,
        'tag' as level,
        tags.tag as subject,
        cases.case_id,
        cases.baseline_score,
        cases.candidate_score,
        cast(null as double) as baseline_metric,
        cast(null as double) as candidate_metric,
        cases.delta,
        cases.is_comparable,
        cases.status_change,
        cases.change <> 'added' as is_shared

    from cases
    inner join tags
        on cases.candidate_task_id = tags.task_id and cases.case_id = tags.case_id
    where cases.change <> 'removed'

    union all

    -- a dimension's own passes: scores of 1 among scores of 0 and 1
    select
        baseline_task_id,
        candidate_task_id,
        'dimension' as level,
        dimension_id as subject,
        case_id,
        baseline_score,
        candidate_score,
        baseline_metric,
        candidate_metric,
        delta,
        true as is_comparable,
        case delta
            when -1 then 'newly_failing'
            when 1 then 'newly_fixed'
            else 'as before'
        end as status_change,
        true as is_shared

    from score_changes

),

in_millionths as (

    select
        *,
        cast(round(delta * 1000000) as decimal(18, 0)) as millionths

    from units

),

counted as (

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

clustered_tasks as (

    select distinct task_id
    from clusters

),

-- Cases of one cluster rise and fall together. A case that belongs to none is one by itself.
of_clusters as (

    select
        units.baseline_task_id,
        units.candidate_task_id,
        units.level,
        units.subject,
        count(*) as n_pairs,
        {{ exact_sum('units.delta') }} as delta_total

    from units
    left join clusters
        on units.candidate_task_id = clusters.task_id and units.case_id = clusters.case_id
    where
        units.delta is not null
        and units.candidate_task_id in (select clustered_tasks.task_id from clustered_tasks)
    group by
        units.baseline_task_id,
        units.candidate_task_id,
        units.level,
        units.subject,
        clusters.cluster,
        case when clusters.cluster is null then units.case_id end

),

-- how far their sums are from what the mean makes them; equal ones by exactly 0
residuals as (

    select
        of_clusters.baseline_task_id,
        of_clusters.candidate_task_id,
        of_clusters.level,
        of_clusters.subject,
        counted.n_pairs,
        round(
            of_clusters.delta_total - counted.delta_total * of_clusters.n_pairs / counted.n_pairs,
            9
        ) as residual

    from of_clusters
    inner join counted using (baseline_task_id, candidate_task_id, level, subject)

),

-- the standard error of a ratio of two sums over clusters; those of one case each are the cases
clustered as (

    select
        baseline_task_id,
        candidate_task_id,
        level,
        subject,
        count(*) as n_clusters,
        sqrt(count(*) / nullif(count(*) - 1e0, 0) * {{ exact_sum('residual * residual') }})
        / max(n_pairs) as cluster_error

    from residuals
    group by baseline_task_id, candidate_task_id, level, subject
    having count(*) < max(n_pairs)

),

summed as (

    select

        ---------- ids
        counted.baseline_task_id,
        counted.candidate_task_id,
        counted.level,
        counted.subject,

        ---------- numerics
        counted.n_shared,
        counted.n_comparable,
        counted.n_pairs,
        counted.n_better,
        counted.n_worse,
        counted.n_same,
        counted.baseline_total / nullif(counted.n_pairs, 0) as baseline_mean,
        counted.candidate_total / nullif(counted.n_pairs, 0) as candidate_mean,
        counted.baseline_metric,
        counted.candidate_metric,
        counted.delta_total / nullif(counted.n_pairs, 0) as mean_delta,
        -- of whole millionths: equal scores spread by exactly 0, in any order of the rows
        sqrt(
            cast(
                counted.n_pairs * counted.squares_total
                - counted.millionths_total * counted.millionths_total as double
            ) / nullif(counted.n_pairs * (counted.n_pairs - 1e0), 0)
        ) / 1e6 as sd,
        counted.n_judged,
        counted.n_lost,
        counted.n_gained,
        clustered.n_clusters,
        clustered.cluster_error,

        ---------- booleans
        counted.is_all_or_nothing

    from counted
    left join clustered using (baseline_task_id, candidate_task_id, level, subject)

)

select * from summed
