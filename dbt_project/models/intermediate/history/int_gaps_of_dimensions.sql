{{ config(materialized=view_of_step()) }}

with

pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
cases as (select * from {{ ref('promptlab', 'int_yardstick_cases') }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimension_pairs') }}),
case_scores as (
    select * from {{ ref('promptlab', 'int_case_scores') }}
    where
        score is not null
        and (
            task_id in (select pairs.baseline_task_id from pairs)
            or task_id in (select pairs.candidate_task_id from pairs)
        )
),

scored_dimensions as (

    select
        cases.baseline_task_id,
        cases.candidate_task_id,
        of_baselines.dimension_id,
        count(*) as n_before,
        -- an answer that was not scored may be the one that broke; an error is not an answer
        count(*) filter (
            where coalesce(of_candidates.n_scored_rounds, 0)
            >= least(of_baselines.n_scored_rounds, cases.n_answers_now)
        ) as n_now

    from cases
    inner join case_scores as of_baselines
        on
            cases.baseline_task_id = of_baselines.task_id
            and cases.case_id = of_baselines.case_id
    left join case_scores as of_candidates
        on
            cases.candidate_task_id = of_candidates.task_id
            and cases.case_id = of_candidates.case_id
            and of_baselines.dimension_id = of_candidates.dimension_id
    group by cases.baseline_task_id, cases.candidate_task_id, of_baselines.dimension_id

),

of_dimensions as (

    select
        dimensions.baseline_task_id,
        dimensions.candidate_task_id,
        case
            when dimensions.reason = 'dimension_removed' then 'dimension_removed'
            when dimensions.baseline_weight > 0 and dimensions.weight = 0
                then 'dimension_unweighted'
            when dimensions.baseline_has_verdict and not dimensions.has_verdict
                then 'verdict_removed'
            when
                dimensions.reason in (
                    'scorer_differs',
                    'judge_differs',
                    'scoring_mode_differs',
                    'parameters_differ',
                    'target_differs'
                )
                then 'dimension_changed'
            when scored_dimensions.n_now < scored_dimensions.n_before
                then 'dimension_unscored'
        end as gap,
        dimensions.dimension_id as subject,
        dimensions.name,
        scored_dimensions.n_before,
        case
            when dimensions.reason = 'dimension_removed' or gap = 'dimension_changed' then 0
            else scored_dimensions.n_now
        end as n_now,
        dimensions.baseline_weight > 0
        or dimensions.baseline_has_verdict
        or dimensions.baseline_has_target as has_judged

    from dimensions
    inner join scored_dimensions using (baseline_task_id, candidate_task_id, dimension_id)

),

of_targets as (

    select
        baseline_task_id,
        candidate_task_id,
        'target_loosened' as gap,
        dimension_id as subject,
        name,
        1 as n_before,
        0 as n_now,
        true as has_judged

    from dimensions
    where is_target_looser

),

gaps as (

    select * from of_dimensions
    where gap is not null

    union all

    select * from of_targets

)

select * from gaps
