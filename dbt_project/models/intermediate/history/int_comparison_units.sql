{{ config(materialized=view_of_step()) }}

-- One row per compared pair of tasks, subject (the overall score, a dimension or a tag) and case: the scores that
-- int_comparison_tests pairs. `baseline_metric` and `candidate_metric` are in the unit of a dimension's scorer.
with

cases as (select * from {{ ref('promptlab', 'int_cases_compared') }}),
score_changes as (select * from {{ ref('promptlab', 'int_case_score_changes') }}),
tags as (
    select * from {{ ref('promptlab', 'int_case_tags') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),
clusters as (
    select * from {{ ref('promptlab', 'stg_tasks__cases') }}
    where task_id in (select cases.candidate_task_id from cases)
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
        -- tags are the candidate's, so no case with one was removed
        cases.change <> 'added' as is_shared

    from cases
    inner join tags
        on cases.candidate_task_id = tags.task_id and cases.case_id = tags.case_id
    where cases.change <> 'removed'

    union all

    -- a pass of a dimension is a score of 1, where all scores are 0 or 1; all rows count as judged
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
            else 'unchanged'
        end as status_change,
        true as is_shared

    from score_changes

),

clustered as (

    select
        units.*,
        clusters.cluster_id

    from units
    left join clusters
        on units.candidate_task_id = clusters.task_id and units.case_id = clusters.case_id

)

select * from clustered
