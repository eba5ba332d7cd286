with

pairs as (select * from {{ ref('int_task_pairs') }} where {{ in_this_build('comparisons') }}),
cases as (select * from {{ ref('int_case_pairs') }} where is_comparable),
dimensions as (select * from {{ ref('int_dimension_pairs') }} where reason is null),
case_scores as (
    select * from {{ ref('int_case_scores') }}
    where
        score is not null
        and (
            task_id in (select pairs.baseline_task_id from pairs)
            or task_id in (select pairs.candidate_task_id from pairs)
        )
),

changes as (

    select

        ---------- ids
        cases.baseline_task_id,
        cases.candidate_task_id,
        cases.case_id,
        dimensions.dimension_id,

        ---------- numerics
        of_baselines.score as baseline_score,
        of_candidates.score as candidate_score,
        {{ rounded('of_candidates.score - of_baselines.score') }} as delta

    from cases
    inner join dimensions using (baseline_task_id, candidate_task_id)
    inner join case_scores as of_baselines
        on
            cases.baseline_task_id = of_baselines.task_id
            and cases.case_id = of_baselines.case_id
            and dimensions.dimension_id = of_baselines.dimension_id
    inner join case_scores as of_candidates
        on
            cases.candidate_task_id = of_candidates.task_id
            and cases.case_id = of_candidates.case_id
            and dimensions.dimension_id = of_candidates.dimension_id

)

select * from changes
