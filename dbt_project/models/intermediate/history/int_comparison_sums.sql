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
        delta,
        true as is_comparable,
        {{ change_of_all_or_nothing('delta') }} as status_change,
        true as is_shared

    from score_changes

),

in_millionths as (

    select
        *,
        {{ millionths('delta') }} as millionths

    from units

),

counted as (

    select
        baseline_task_id,
        candidate_task_id,
        level,
        subject,
        {{ paired_parts() }}

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
        {{ paired_sums() }},

        ---------- booleans
        is_all_or_nothing

    from counted

)

select * from summed
