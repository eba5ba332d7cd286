{{ config(unique_key='candidate_task_id', meta={'batch': 'comparisons'}) }}

-- What judged the baseline has to judge the candidate; otherwise no case can break there.
with

pairs as (select * from {{ ref('int_task_pairs') }} where {{ in_this_build('comparisons') }}),
cases as (select * from {{ ref('int_yardstick_cases') }}),
gaps_of_dimensions as (select * from {{ ref('int_gaps_of_dimensions') }}),
tasks as (select * from {{ ref('int_tasks_resolved') }}),
stored_tasks as (select * from {{ ref('stg_tasks__tasks') }}),
testsets as (select * from {{ ref('stg_testsets__testsets') }}),
loads as (select * from {{ ref('stg_loads__loads') }}),
case_rounds as (
    select * from {{ ref('int_case_rounds') }}
    where task_id in (select pairs.candidate_task_id from pairs)
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
matches as (
    select * from {{ ref('fct_match_results') }}
    where task_id in (select pairs.candidate_task_id from pairs)
),

of_must_haves as (

    select
        baseline_task_id,
        candidate_task_id,
        'must_haves_unjudged' as gap,
        'must_haves' as subject,
        cast(null as string) as name,
        count(*) as n_before,
        -- as often by answer
        count(*) filter (
            where n_must_haves_now * n_answers_before >= n_must_haves_before * n_answers_now
        ) as n_now

    from cases
    where n_must_haves_before > 0
    group by baseline_task_id, candidate_task_id
    having n_now < n_before

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

asserted_cases as (

    select
        cases.baseline_task_id,
        cases.candidate_task_id,
        cases.case_id,
        -- as often by answer
        bool_and(
            coalesce(of_candidates.n_judged, 0) * cases.n_answers_before
            >= of_baselines.n_judged * cases.n_answers_now
        ) as is_judged

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
    group by cases.baseline_task_id, cases.candidate_task_id, cases.case_id

),

of_assertions as (

    select
        baseline_task_id,
        candidate_task_id,
        'assertions_unjudged' as gap,
        'assertions' as subject,
        cast(null as string) as name,
        count(*) as n_before,
        count(*) filter (where is_judged) as n_now

    from asserted_cases
    group by baseline_task_id, candidate_task_id
    having n_now < n_before

),

-- both tasks are judged by the testset as it is now: what it expected before is not known
replaced_cases as (

    select
        load_id,
        {{ unnested(json_text_elements('replaced')) }} as replaced

    from loads
    where kind = 'testset'

),

cases_of_testsets as (

    select distinct
        cases.baseline_task_id,
        cases.candidate_task_id,
        tasks.testset_id,
        cases.case_id,
        replaced_cases.replaced is not null as is_changed

    from cases
    inner join tasks on cases.candidate_task_id = tasks.task_id and tasks.testset_id is not null
    inner join stored_tasks on cases.baseline_task_id = stored_tasks.task_id
    left join replaced_cases
        on
            tasks.testset_id || '|' || cases.case_id = replaced_cases.replaced
            and stored_tasks.load_id < replaced_cases.load_id

),

of_changed_testsets as (

    select
        baseline_task_id,
        candidate_task_id,
        'testset_changed' as gap,
        testset_id as subject,
        testset_id as name,
        count(*) as n_before,
        count(*) filter (where not is_changed) as n_now

    from cases_of_testsets
    group by baseline_task_id, candidate_task_id, testset_id
    having n_now < n_before

),

of_rounds as (

    select
        baseline_task_id,
        candidate_task_id,
        'rounds_missing' as gap,
        'rounds' as subject,
        cast(null as string) as name,
        cast(sum(n_rounds_before) as bigint) as n_before,
        cast(sum(least(n_rounds_before, n_rounds_now)) as bigint) as n_now

    from cases
    group by baseline_task_id, candidate_task_id
    having n_now < n_before

),

of_testsets as (

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        'testset_rejected' as gap,
        testsets.testset_id as subject,
        testsets.testset_id as name,
        testsets.cases + loads.rows_rejected as n_before,
        testsets.cases as n_now

    from pairs
    inner join tasks on pairs.candidate_task_id = tasks.task_id
    inner join testsets using (testset_id)
    inner join loads on testsets.load_id = loads.load_id
    where loads.rows_rejected > 0

),

expected_cases as (

    select
        task_id,
        case_id,
        bool_or(status = 'unevaluated') as is_unjudged

    from matches
    group by task_id, case_id

),

of_expectations as (

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        'expectations_unjudged' as gap,
        'expectations' as subject,
        cast(null as string) as name,
        count(*) as n_before,
        count(*) filter (where not expected_cases.is_unjudged) as n_now

    from pairs
    inner join expected_cases on pairs.candidate_task_id = expected_cases.task_id
    group by pairs.baseline_task_id, pairs.candidate_task_id
    having n_now < n_before

),

-- an answer from a cache was given before: it says nothing of what changed since
of_caches as (

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        'answers_cached' as gap,
        'answers' as subject,
        cast(null as string) as name,
        count(*) as n_before,
        count(*) filter (where not case_rounds.has_only_copies) as n_now

    from pairs
    inner join case_rounds on pairs.candidate_task_id = case_rounds.task_id
    group by pairs.baseline_task_id, pairs.candidate_task_id
    having n_now < n_before

),

gaps as (

    select * from gaps_of_dimensions

    union all

    select * from of_must_haves

    union all

    select * from of_assertions

    union all

    select * from of_rounds

    union all

    select * from of_testsets

    union all

    select * from of_changed_testsets

    union all

    select * from of_expectations

    union all

    select * from of_caches

),

final as (

    select

        ---------- ids
        baseline_task_id,
        candidate_task_id,

        ---------- strings
        gap,
        subject,
        name,

        ---------- numerics
        cast(n_before as bigint) as n_before,
        cast(n_now as bigint) as n_now

    from gaps

)

select * from final
