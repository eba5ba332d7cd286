{{ config(materialized=view_of_step()) }}

-- One row per pair of tasks and case of either: its overall score on both sides, made of
-- the same dimensions with the same weights, and what became of it.
with

cases as (select * from {{ ref('int_case_pairs') }}),
score_changes as (
    select * from {{ ref('fct_case_score_changes') }}
    where {{ in_this_build('comparisons') }}
),
dimensions as (select * from {{ ref('int_dimension_pairs') }} where reason is null and weight > 0),

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

overall as (

    select
        baseline_task_id,
        candidate_task_id,
        case_id,
        {{ rounded('baseline_sum / sum_of_weights') }} as baseline_score,
        {{ rounded('candidate_sum / sum_of_weights') }} as candidate_score

    from weighed

),

joined as (

    select
        cases.*,
        overall.baseline_score,
        overall.candidate_score,
        {{ rounded('overall.candidate_score - overall.baseline_score') }} as delta,
        -- passed or not: an unevaluated case is neither
        cases.is_comparable
        and cases.baseline_status <> 'unevaluated'
        and cases.candidate_status <> 'unevaluated' as is_judged

    from cases
    left join overall using (baseline_task_id, candidate_task_id, case_id)

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

        ---------- numerics
        baseline_score,
        candidate_score,
        delta,

        ---------- booleans
        is_comparable,
        is_judged,
        is_judged and baseline_status = 'pass' and candidate_status <> 'pass' as is_pass_lost,
        is_judged and baseline_status <> 'pass' and candidate_status = 'pass' as is_pass_gained,
        coalesce(
            is_comparable and baseline_must_have_pass and not candidate_must_have_pass, false
        ) as is_must_have_lost,
        coalesce(
            is_comparable and not baseline_must_have_pass and candidate_must_have_pass, false
        ) as is_must_have_gained

    from joined

)

select * from compared
