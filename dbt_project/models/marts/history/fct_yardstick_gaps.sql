{{ config(unique_key='candidate_task_id', meta={'batch': 'comparisons'}) }}

-- What judged the baseline has to judge the candidate; otherwise no case can break there.
with

pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
gaps_of_dimensions as (select * from {{ ref('promptlab', 'int_gaps_of_dimensions') }}),
gaps_of_cases as (select * from {{ ref('promptlab', 'int_gaps_of_cases') }}),
gaps_of_testsets as (select * from {{ ref('promptlab', 'int_gaps_of_testsets') }}),
gaps_of_baselines as (select * from {{ ref('promptlab', 'int_gaps_of_baselines') }}),
case_rounds as (
    select * from {{ ref('promptlab', 'int_case_rounds') }}
    where task_id in (select pairs.candidate_task_id from pairs)
),
matches as (
    select * from {{ ref('promptlab', 'fct_match_results') }}
    where task_id in (select pairs.candidate_task_id from pairs)
),

expected_cases as (

    select
        task_id,
        case_id,
        bool_or(status = 'unevaluated') as is_unjudged

    from matches
    group by task_id, case_id

),

others as (

    select * from gaps_of_cases

    union all

    select * from gaps_of_testsets

    union all

    select * from gaps_of_baselines

    union all

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

    union all

    -- an answer from a cache was given before: it says nothing of what changed since
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

    select
        *,
        true as has_judged

    from others

    union all

    select * from gaps_of_dimensions

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
        cast(n_now as bigint) as n_now,

        ---------- booleans
        has_judged

    from gaps

)

select * from final
