{{ config(unique_key='candidate_task_id', meta={'batch': 'comparisons'}) }}

-- What judged the baseline has to judge the candidate; otherwise no case can break there.
with

pairs as (select * from {{ ref('int_task_pairs') }} where {{ in_this_build('comparisons') }}),
cases as (select * from {{ ref('int_yardstick_cases') }}),
gaps_of_dimensions as (select * from {{ ref('int_gaps_of_dimensions') }}),
gaps_of_testsets as (select * from {{ ref('int_gaps_of_testsets') }}),
case_rounds as (
    select * from {{ ref('int_case_rounds') }}
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

of_assertions as (

    select
        baseline_task_id,
        candidate_task_id,
        'assertions_unjudged' as gap,
        'assertions' as subject,
        cast(null as string) as name,
        count(*) as n_before,
        count(*) filter (where are_assertions_judged) as n_now

    from cases
    where are_assertions_judged is not null
    group by baseline_task_id, candidate_task_id
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

    select * from gaps_of_testsets

    union all

    select * from of_must_haves

    union all

    select * from of_assertions

    union all

    select * from of_rounds

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
