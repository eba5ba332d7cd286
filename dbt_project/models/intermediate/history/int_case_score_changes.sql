-- One row per compared pair of tasks, case that is the same in both and dimension that means the same
-- in both, with a score on both sides: score and metric before and after.
with

pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
cases as (select * from {{ ref('promptlab', 'int_case_pairs') }} where is_comparable),
dimensions as (select * from {{ ref('promptlab', 'int_dimension_pairs') }} where reason is null),
case_scores as (
    select * from {{ ref('promptlab', 'int_case_scores') }}
    where
        score is not null
        and (
            task_id in (select pairs.baseline_task_id from pairs)
            or task_id in (select pairs.candidate_task_id from pairs)
        )
),

of_baselines as (

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        case_scores.case_id,
        case_scores.dimension_id,
        case_scores.score,
        case_scores.mean_metric

    from pairs
    inner join dimensions using (baseline_task_id, candidate_task_id)
    inner join case_scores
        on
            pairs.baseline_task_id = case_scores.task_id
            and dimensions.dimension_id = case_scores.dimension_id

),

-- an inner join would begin with the cases of all tasks, each with each
of_both as (

    select
        of_baselines.*,
        of_candidates.score as candidate_score,
        of_candidates.mean_metric as candidate_metric

    from of_baselines
    left join case_scores as of_candidates
        on
            of_baselines.candidate_task_id = of_candidates.task_id
            and of_baselines.case_id = of_candidates.case_id
            and of_baselines.dimension_id = of_candidates.dimension_id

),

changes as (

    select

        ---------- ids
        of_both.baseline_task_id,
        of_both.candidate_task_id,
        of_both.case_id,
        of_both.dimension_id,

        ---------- numerics
        of_both.score as baseline_score,
        of_both.candidate_score,
        of_both.mean_metric as baseline_metric,
        of_both.candidate_metric,
        round(of_both.candidate_score - of_both.score, 6) as delta

    from of_both
    inner join cases using (baseline_task_id, candidate_task_id, case_id)
    where of_both.candidate_score is not null

)

select * from changes
