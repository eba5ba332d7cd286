-- One row per compared pair of tasks and case of either: its score on both sides, over the dimensions that
-- mean the same in both, and whether it became better or worse; also whether it newly passes or fails.
with

cases as (select * from {{ ref('promptlab', 'int_case_pairs') }}),
score_changes as (select * from {{ ref('promptlab', 'int_case_score_changes') }}),
dimensions as (
    select * from {{ ref('promptlab', 'int_dimension_pairs') }}
    where reason is null and weight > 0
),
results as (
    select * from {{ ref('promptlab', 'int_case_results') }}
    where
        task_id in (select cases.baseline_task_id from cases)
        or task_id in (select cases.candidate_task_id from cases)
),

weighed as (

    select
        score_changes.baseline_task_id,
        score_changes.candidate_task_id,
        score_changes.case_id,
        {{ exact_weighted_sum('dimensions.weight', 'score_changes.baseline_score') }}
            as baseline_sum,
        {{ exact_weighted_sum('dimensions.weight', 'score_changes.candidate_score') }}
            as candidate_sum,
        {{ exact_sum('dimensions.weight') }} as sum_of_weights

    from score_changes
    inner join dimensions using (baseline_task_id, candidate_task_id, dimension_id)
    group by
        score_changes.baseline_task_id,
        score_changes.candidate_task_id,
        score_changes.case_id

),

joined as (

    select
        cases.*,
        round(weighed.baseline_sum / weighed.sum_of_weights, 6) as baseline_score,
        round(weighed.candidate_sum / weighed.sum_of_weights, 6) as candidate_score,
        round(candidate_score - baseline_score, 6) as delta,
        of_baselines.status as baseline_status,
        of_candidates.status as candidate_status,
        of_baselines.answered_status as answered_before,
        of_candidates.answered_status as answered_now,
        of_baselines.aggregated_score is not null as is_baseline_scored,
        of_candidates.aggregated_score is not null as is_candidate_scored,
        of_baselines.answered_must_have_pass as baseline_must_have_pass,
        of_candidates.answered_must_have_pass as candidate_must_have_pass,
        -- passed or not: an unevaluated case is neither
        cases.is_comparable
        and of_baselines.status <> 'unevaluated'
        and of_candidates.status <> 'unevaluated' as is_judged

    from cases
    left join weighed using (baseline_task_id, candidate_task_id, case_id)
    left join results as of_baselines
        on
            cases.baseline_task_id = of_baselines.task_id
            and cases.case_id = of_baselines.case_id
    left join results as of_candidates
        on
            cases.candidate_task_id = of_candidates.task_id
            and cases.case_id = of_candidates.case_id

),

compared as (

    select

        ---------- ids
        baseline_task_id,
        candidate_task_id,
        case_id,

        ---------- strings
        case
            when present_in = 'candidate' then 'added'
            when present_in = 'baseline' then 'removed'
            when delta is null then 'not_comparable'
            when delta > 0 then 'better'
            when delta < 0 then 'worse'
            else 'same'
        end as change,
        case
            when present_in <> 'both' or delta is not null then null
            when content_reason is not null then content_reason
            when not is_baseline_scored and not is_candidate_scored then 'no_score'
            when not is_baseline_scored then 'no_score_in_baseline'
            when not is_candidate_scored then 'no_score_in_candidate'
            else 'no_comparable_dimension'
        end as reason,
        baseline_status,
        candidate_status,
        case
            when not is_judged then null
            when answered_before = 'pass' and answered_now = 'pass' then 'still_passing'
            when answered_before = 'pass' then 'newly_failing'
            when candidate_status = 'pass' then 'newly_fixed'
            else 'still_failing'
        end as status_change,

        ---------- numerics
        baseline_score,
        candidate_score,
        delta,

        ---------- booleans
        is_baseline_scored,
        is_comparable,
        has_other_assertions,
        coalesce(
            is_comparable and baseline_must_have_pass and not candidate_must_have_pass, false
        ) as must_have_lost,
        coalesce(
            is_comparable and not baseline_must_have_pass and candidate_must_have_pass, false
        ) as must_have_gained

    from joined

)

select * from compared
