with

pairs as (select * from {{ ref('int_task_pairs') }} where {{ in_this_build('comparisons') }}),
shared_cases as (select * from {{ ref('int_case_pairs') }} where present_in = 'both'),
case_results as (
    select * from {{ ref('int_case_results') }}
    where
        task_id in (select pairs.baseline_task_id from pairs)
        or task_id in (select pairs.candidate_task_id from pairs)
),
checks as (
    select * from {{ ref('stg_reported__checks') }}
    where
        status <> 'unevaluated'
        and (
            task_id in (select pairs.baseline_task_id from pairs)
            or task_id in (select pairs.candidate_task_id from pairs)
        )
),
contents as (
    select * from {{ ref('int_case_contents') }}
    where
        task_id in (select pairs.baseline_task_id from pairs)
        or task_id in (select pairs.candidate_task_id from pairs)
),

-- a case without a round is missing itself; inner joins would begin with all pairs of cases
counted as (

    select
        shared_cases.baseline_task_id,
        shared_cases.candidate_task_id,
        shared_cases.case_id,
        of_baselines.status in ('pass', 'fail') as is_judged_before,
        of_candidates.status in ('pass', 'fail') as is_judged_now,
        of_baselines.n_rounds as n_rounds_before,
        of_candidates.n_rounds as n_rounds_now,
        of_baselines.n_rounds - of_baselines.n_rounds_in_error as n_answers_before,
        of_candidates.n_rounds - of_candidates.n_rounds_in_error as n_answers_now,
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

),

assertions as (

    select
        task_id,
        case_id,
        check_name,
        check_type,
        coalesce(cast(expected as string), '') as expected,
        threshold,
        count(*) as n_judged

    from checks
    group by
        task_id,
        case_id,
        check_name,
        check_type,
        coalesce(cast(expected as string), ''),
        threshold

),

-- the candidate's are the same and yet say something else: a weight, or the threshold of the
-- test, was changed
n_assertions as (

    select
        assertions.task_id,
        assertions.case_id,
        any_value(contents.assertions_hash) as assertions_hash,
        count(*) as n

    from assertions
    left join contents using (task_id, case_id)
    group by assertions.task_id, assertions.case_id

),

asserted_cases as (

    select
        counted.baseline_task_id,
        counted.candidate_task_id,
        counted.case_id,
        -- as often by answer
        bool_and(
            coalesce(of_candidates.n_judged, 0) * counted.n_answers_before
            >= of_baselines.n_judged * counted.n_answers_now
        )
        and not bool_or(coalesce(
            all_before.n = all_now.n and all_before.assertions_hash <> all_now.assertions_hash,
            false
        )) as are_assertions_judged

    from counted
    inner join assertions as of_baselines
        on
            counted.baseline_task_id = of_baselines.task_id
            and counted.case_id = of_baselines.case_id
    left join assertions as of_candidates
        on
            counted.candidate_task_id = of_candidates.task_id
            and counted.case_id = of_candidates.case_id
            and of_baselines.check_name = of_candidates.check_name
            and of_baselines.check_type = of_candidates.check_type
            and of_baselines.expected = of_candidates.expected
            and of_baselines.threshold is not distinct from of_candidates.threshold
    left join n_assertions as all_before
        on
            counted.baseline_task_id = all_before.task_id
            and counted.case_id = all_before.case_id
    left join n_assertions as all_now
        on
            counted.candidate_task_id = all_now.task_id
            and counted.case_id = all_now.case_id
    group by counted.baseline_task_id, counted.candidate_task_id, counted.case_id

),

-- results name no assertions one by one; where a testset expects something, it judges, and of
-- what the file says only the must-haves count, which stand after the stroke
hashed_cases as (

    select
        counted.baseline_task_id,
        counted.candidate_task_id,
        counted.case_id,
        not counted.is_judged_now
        or case
            when
                of_baselines.expectations_hash is not null
                or of_candidates.expectations_hash is not null
                then
                    split_part(of_baselines.assertions_hash, '/', 2)
                    = split_part(coalesce(of_candidates.assertions_hash, ''), '/', 2)
            else
                of_baselines.assertions_hash = coalesce(of_candidates.assertions_hash, '')
        end as is_judged_by_the_same

    from counted
    inner join contents as of_baselines
        on
            counted.baseline_task_id = of_baselines.task_id
            and counted.case_id = of_baselines.case_id
    left join contents as of_candidates
        on
            counted.candidate_task_id = of_candidates.task_id
            and counted.case_id = of_candidates.case_id
    where
        of_baselines.assertions_hash is not null
        and counted.is_judged_before

),

cases as (

    select

        ---------- ids
        counted.baseline_task_id,
        counted.candidate_task_id,
        counted.case_id,

        ---------- numerics
        counted.n_rounds_before,
        counted.n_rounds_now,
        counted.n_answers_now,

        ---------- booleans
        counted.are_must_haves_judged,
        coalesce(asserted_cases.are_assertions_judged, hashed_cases.is_judged_by_the_same)
            as are_assertions_judged

    from counted
    left join asserted_cases using (baseline_task_id, candidate_task_id, case_id)
    left join hashed_cases using (baseline_task_id, candidate_task_id, case_id)

)

select * from cases
