{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'comparisons'}) }}

-- Alerts that look at a task's baseline: a significant regression of the overall score or
-- a dimension, and must-haves that were lost. They stand beside those of int_task_alerts
-- and never cap a grade.
with

pairs as (
    select * from {{ ref('fct_task_pairs') }}
    where {{ in_this_build('comparisons') }} and pair_source <> 'requested'
),
comparisons as (
    select * from {{ ref('fct_task_comparisons') }}
    where {{ in_this_build('comparisons') }} and verdict = 'regressed'
),
case_changes as (
    select * from {{ ref('fct_case_changes') }}
    where {{ in_this_build('comparisons') }}
),
score_changes as (
    select * from {{ ref('fct_case_score_changes') }}
    where {{ in_this_build('comparisons') }} and delta < 0
),
policy as (select * from {{ ref('alert_policy') }}),
severities as (select * from {{ ref('severities') }}),

worse_cases as (

    select
        baseline_task_id,
        candidate_task_id,
        'overall' as level,
        'overall' as dimension_id,
        case_id,
        delta

    from case_changes
    where change = 'worse'

    union all

    select
        baseline_task_id,
        candidate_task_id,
        'dimension' as level,
        dimension_id,
        case_id,
        delta

    from score_changes

),

regressions as (

    select
        comparisons.baseline_task_id,
        comparisons.candidate_task_id,
        comparisons.level,
        comparisons.dimension_id,
        comparisons.dimension_position,
        comparisons.n_pairs,
        comparisons.conclusion,
        comparisons.conclusion_en,
        count(*) as n_cases,
        {{ json_list_of('worse_cases.case_id', 'worse_cases.delta, worse_cases.case_id') }}
            as case_ids

    from comparisons
    inner join pairs using (baseline_task_id, candidate_task_id)
    inner join worse_cases using (baseline_task_id, candidate_task_id, level, dimension_id)
    group by
        comparisons.baseline_task_id,
        comparisons.candidate_task_id,
        comparisons.level,
        comparisons.dimension_id,
        comparisons.dimension_position,
        comparisons.n_pairs,
        comparisons.conclusion,
        comparisons.conclusion_en

),

must_haves_lost as (

    select
        case_changes.baseline_task_id,
        case_changes.candidate_task_id,
        count(*) as n_cases,
        {{ json_list_of('case_changes.case_id', 'case_changes.case_id') }} as case_ids,
        {{ joined('case_changes.case_id', "', '", 'case_changes.case_id') }} as case_names,
        max(pairs.n_better + pairs.n_worse + pairs.n_same + pairs.n_not_comparable) as n_shared

    from case_changes
    inner join pairs using (baseline_task_id, candidate_task_id)
    where case_changes.must_have_lost
    group by case_changes.baseline_task_id, case_changes.candidate_task_id

),

facts as (

    select
        candidate_task_id as task_id,
        'significant_regression' as code,
        case when level = 'dimension' then dimension_id end as dimension_id,
        dimension_position,
        baseline_task_id as name,
        conclusion as detail,
        conclusion_en as detail_en,
        n_cases,
        n_pairs as n_total,
        case_ids

    from regressions

    union all

    select
        candidate_task_id as task_id,
        'must_have_lost' as code,
        cast(null as string) as dimension_id,
        cast(null as bigint) as dimension_position,
        baseline_task_id as name,
        {{ shortened('case_names', 160) }} as detail,
        {{ shortened('case_names', 160) }} as detail_en,
        n_cases,
        n_shared as n_total,
        case_ids

    from must_haves_lost

),

worded as (

    select

        ---------- ids
        facts.task_id,

        ---------- strings
        facts.code,
        policy.severity,
        {{ filled('policy.message', {
            'n': 'cast(facts.n_cases as string)',
            'total': 'cast(facts.n_total as string)',
            'name': 'facts.name',
            'detail': 'facts.detail',
        }) }} as message,
        {{ filled('policy.message_en', {
            'n': 'cast(facts.n_cases as string)',
            'total': 'cast(facts.n_total as string)',
            'name': 'facts.name',
            'detail': 'facts.detail_en',
        }) }} as message_en,

        ---------- numerics
        severities.severity_rank,
        facts.dimension_position,
        facts.n_cases,

        ---------- json
        case
            when facts.dimension_id is null then {{ as_json("'[]'") }}
            else to_json({{ one_element_list('facts.dimension_id') }})
        end as dimension_ids,
        facts.case_ids

    from facts
    inner join policy using (code)
    inner join severities on policy.severity = severities.severity

)

select * from worded
