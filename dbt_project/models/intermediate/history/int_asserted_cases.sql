with

cases as (select * from {{ ref('promptlab', 'int_yardstick_cases') }}),
checks as (
    select * from {{ ref('promptlab', 'stg_reported__checks') }}
    where
        status <> 'unevaluated'
        and (
            task_id in (select cases.baseline_task_id from cases)
            or task_id in (select cases.candidate_task_id from cases)
        )
),
contents as (
    select * from {{ ref('promptlab', 'int_case_contents') }}
    where
        task_id in (select cases.baseline_task_id from cases)
        or task_id in (select cases.candidate_task_id from cases)
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
        cases.baseline_task_id,
        cases.candidate_task_id,
        cases.case_id,
        -- as often by answer
        bool_and(
            coalesce(of_candidates.n_judged, 0) * cases.n_answers_before
            >= of_baselines.n_judged * cases.n_answers_now
        )
        and not bool_or(coalesce(
            all_before.n = all_now.n and all_before.assertions_hash <> all_now.assertions_hash,
            false
        )) as are_assertions_judged

    from cases
    inner join assertions as of_baselines
        on
            cases.baseline_task_id = of_baselines.task_id
            and cases.case_id = of_baselines.case_id
    left join assertions as of_candidates
        on
            cases.candidate_task_id = of_candidates.task_id
            and cases.case_id = of_candidates.case_id
            and of_baselines.check_name = of_candidates.check_name
            and of_baselines.check_type = of_candidates.check_type
            and of_baselines.expected = of_candidates.expected
            and of_baselines.threshold is not distinct from of_candidates.threshold
    left join n_assertions as all_before
        on
            cases.baseline_task_id = all_before.task_id
            and cases.case_id = all_before.case_id
    left join n_assertions as all_now
        on
            cases.candidate_task_id = all_now.task_id
            and cases.case_id = all_now.case_id
    group by cases.baseline_task_id, cases.candidate_task_id, cases.case_id

),

-- results name no assertions one by one; where a testset expects something, it judges, and of
-- what the file says only the must-haves count, which stand after the stroke
hashed_cases as (

    select
        cases.baseline_task_id,
        cases.candidate_task_id,
        cases.case_id,
        not cases.is_judged_now
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

    from cases
    inner join contents as of_baselines
        on
            cases.baseline_task_id = of_baselines.task_id
            and cases.case_id = of_baselines.case_id
    left join contents as of_candidates
        on
            cases.candidate_task_id = of_candidates.task_id
            and cases.case_id = of_candidates.case_id
    where
        of_baselines.assertions_hash is not null
        and cases.is_judged_before

),

judged as (

    select

        ---------- ids
        cases.baseline_task_id,
        cases.candidate_task_id,
        cases.case_id,

        ---------- booleans
        coalesce(asserted_cases.are_assertions_judged, hashed_cases.is_judged_by_the_same)
            as are_assertions_judged

    from cases
    left join asserted_cases using (baseline_task_id, candidate_task_id, case_id)
    left join hashed_cases using (baseline_task_id, candidate_task_id, case_id)
    where asserted_cases.case_id is not null or hashed_cases.case_id is not null

)

select * from judged
