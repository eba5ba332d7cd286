with

pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
shared_cases as (select * from {{ ref('promptlab', 'int_case_pairs') }} where present_in = 'both'),
case_results as (
    select * from {{ ref('promptlab', 'int_case_results') }}
    where
        task_id in (select pairs.baseline_task_id from pairs)
        or task_id in (select pairs.candidate_task_id from pairs)
),

-- a case without a round is missing itself; inner joins would begin with all pairs of cases
cases as (

    select

        ---------- ids
        shared_cases.baseline_task_id,
        shared_cases.candidate_task_id,
        shared_cases.case_id,

        ---------- numerics
        of_baselines.n_rounds as n_rounds_before,
        of_candidates.n_rounds as n_rounds_now,
        of_baselines.n_rounds - of_baselines.n_rounds_in_error as n_answers_before,
        of_candidates.n_rounds - of_candidates.n_rounds_in_error as n_answers_now,

        ---------- booleans
        of_baselines.status in ('pass', 'fail') as is_judged_before,
        of_candidates.status in ('pass', 'fail') as is_judged_now,
        case
            when of_baselines.must_haves_per_answer > 0
                then
                    (of_candidates.must_haves_per_answer < of_baselines.must_haves_per_answer)
                    is not true
        end as are_must_haves_judged

    from shared_cases
    left join case_results as of_baselines
        on
            shared_cases.baseline_task_id = of_baselines.task_id
            and shared_cases.case_id = of_baselines.case_id
    left join case_results as of_candidates
        on
            shared_cases.candidate_task_id = of_candidates.task_id
            and shared_cases.case_id = of_candidates.case_id
    where of_candidates.n_rounds is distinct from 0

)

select * from cases
