{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'comparisons'}) }}

-- One row per task and alert (`code`) from the comparison with its baseline task: a score that fell by
-- more than chance, must-haves that were lost. Alerts about a task alone are in int_task_alerts.
with

pairs as (
    select * from {{ ref('promptlab', 'int_task_pairs') }}
    where {{ in_this_build('comparisons') }} and pair_source <> 'requested'
),
comparisons as (select * from {{ ref('promptlab', 'int_comparison_tests') }} where verdict = 'regressed'),
cases as (select * from {{ ref('promptlab', 'int_cases_compared') }}),
score_changes as (select * from {{ ref('promptlab', 'int_case_score_changes') }} where delta < 0),
judge_changes as (select * from {{ ref('promptlab', 'int_judge_changes') }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimension_pairs') }} where weight > 0),
policy as (select * from {{ ref('promptlab', 'promptlab_alert_policy') }}),
severities as (select * from {{ ref('promptlab', 'promptlab_severities') }}),

-- the scores of two judges are not compared, nor what they are a part of
differently_judged as (

    select
        baseline_task_id,
        candidate_task_id,
        'dimension' as level,
        judged_name as subject

    from judge_changes

    union

    select
        judge_changes.baseline_task_id,
        judge_changes.candidate_task_id,
        'dimension' as level,
        dimensions.dimension_id as subject

    from judge_changes
    inner join dimensions using (baseline_task_id, candidate_task_id)

    union

    select
        baseline_task_id,
        candidate_task_id,
        'overall' as level,
        'overall' as subject

    from judge_changes

),

worse_units as (

    select
        baseline_task_id,
        candidate_task_id,
        'overall' as level,
        'overall' as subject,
        case_id,
        delta

    from cases
    where change = 'worse'

    union all

    select
        baseline_task_id,
        candidate_task_id,
        'dimension' as level,
        dimension_id as subject,
        case_id,
        delta

    from score_changes

),

worse_cases as (

    select
        baseline_task_id,
        candidate_task_id,
        level,
        subject,
        count(*) as n_cases,
        {{ json_list_of('case_id', 'delta, case_id') }} as case_ids

    from worse_units
    group by baseline_task_id, candidate_task_id, level, subject

),

must_haves as (

    select
        baseline_task_id,
        candidate_task_id,
        count(*) filter (where must_have_lost) as n_cases,
        {{ json_list_of('case_id', 'case_id', 'must_have_lost') }} as case_ids,
        count(*) filter (where change not in ('added', 'removed')) as n_shared

    from cases
    group by baseline_task_id, candidate_task_id

),

alerts_raised as (

    select
        candidate_task_id as task_id,
        'significant_regression' as code,
        case when comparisons.level = 'dimension' then comparisons.subject end as dimension_id,
        comparisons.position as dimension_position,
        worse_cases.n_cases,
        worse_cases.case_ids,
        json_object(
            'baseline_task_id', baseline_task_id,
            'comparison', cast({{ comparison_facts('comparisons') }} as json)
        ) as facts

    from comparisons
    inner join pairs using (baseline_task_id, candidate_task_id)
    inner join worse_cases using (baseline_task_id, candidate_task_id, level, subject)
    left join differently_judged using (baseline_task_id, candidate_task_id, level, subject)
    where differently_judged.subject is null

    union all

    select
        candidate_task_id as task_id,
        'must_have_lost' as code,
        cast(null as string) as dimension_id,
        cast(null as bigint) as dimension_position,
        must_haves.n_cases,
        must_haves.case_ids,
        json_object(
            'baseline_task_id', baseline_task_id,
            'n', must_haves.n_cases,
            'n_total', must_haves.n_shared
        ) as facts

    from must_haves
    inner join pairs using (baseline_task_id, candidate_task_id)
    where must_haves.n_cases > 0

),

rated as (

    select

        ---------- ids
        alerts_raised.task_id,

        ---------- strings
        alerts_raised.code,
        policy.severity,

        ---------- numerics
        severities.severity_rank,
        alerts_raised.dimension_position,
        alerts_raised.n_cases,

        ---------- json
        case
            when alerts_raised.dimension_id is null then cast('[]' as json)
            else to_json([alerts_raised.dimension_id])
        end as dimension_ids,
        alerts_raised.case_ids,
        alerts_raised.facts

    from alerts_raised
    inner join policy using (code)
    inner join severities on policy.severity = severities.severity

)

select * from rated
