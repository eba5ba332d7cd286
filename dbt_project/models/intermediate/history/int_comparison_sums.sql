with

cases as (select * from {{ ref('int_cases_compared') }}),
score_changes as (select * from {{ ref('int_case_score_changes') }}),
tags as (
    select * from {{ ref('int_case_tags') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),

units as (

    select
        baseline_task_id,
        candidate_task_id,
        'overall' as level,
        'overall' as subject,
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

summed as (

    select

        ---------- ids
        baseline_task_id,
        candidate_task_id,
        level,
        subject,

        ---------- numerics
        n_shared,
        n_comparable,
        n_pairs,
        n_better,
        n_worse,
        n_same,
        baseline_total / nullif(n_pairs, 0) as baseline_mean,
        candidate_total / nullif(n_pairs, 0) as candidate_mean,
        baseline_metric,
        candidate_metric,
        delta_total / nullif(n_pairs, 0) as mean_delta,
        -- of whole millionths: equal scores spread by exactly 0, in any order of the rows
        sqrt(
            cast(n_pairs * squares_total - millionths_total * millionths_total as double)
            / nullif(n_pairs * (n_pairs - 1e0), 0)
        ) / 1e6 as sd,
        n_judged,
        n_lost,
        n_gained,

        ---------- booleans
        is_all_or_nothing

    from counted

)

select * from summed
