{{ config(materialized=view_of_step()) }}

with

pairs as (select * from {{ ref('int_task_pairs') }} where {{ in_this_build('comparisons') }}),
cases as (select * from {{ ref('int_yardstick_cases') }}),
named as (
    select * from {{ ref('stg_reported__judges') }}
    where
        task_id in (select pairs.baseline_task_id from pairs)
        or task_id in (select pairs.candidate_task_id from pairs)
),
checks as (
    select * from {{ ref('stg_reported__checks') }}
    where
        (
            task_id in (select pairs.baseline_task_id from pairs)
            or task_id in (select pairs.candidate_task_id from pairs)
        )
        and check_type in (select named.judged_name from named)
),

-- a check whose judge the file does not name was judged by the default of its tool
unnamed as (

    select
        checks.task_id,
        checks.check_type as judged_name

    from checks
    left join named
        on checks.task_id = named.task_id and checks.check_type = named.judged_name
    where named.task_id is null
    group by checks.task_id, checks.check_type

),

judges as (

    select
        task_id,
        judged_name,
        judge_model,
        rubric,
        false as is_default

    from named

    union all

    select
        task_id,
        judged_name,
        null as judge_model,
        null as rubric,
        true as is_default

    from unnamed

),

-- another model, or another rubric for all cases
gaps as (

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        'judge_changed' as gap,
        of_candidates.judged_name as subject,
        of_candidates.judged_name as name,
        count(*) as n_before,
        0 as n_now

    from pairs
    inner join judges as of_baselines on pairs.baseline_task_id = of_baselines.task_id
    inner join judges as of_candidates
        on
            pairs.candidate_task_id = of_candidates.task_id
            and of_baselines.judged_name = of_candidates.judged_name
    inner join cases
        on
            pairs.baseline_task_id = cases.baseline_task_id
            and pairs.candidate_task_id = cases.candidate_task_id
    where
        of_baselines.judge_model <> of_candidates.judge_model
        or of_baselines.rubric <> of_candidates.rubric
        or of_baselines.is_default <> of_candidates.is_default
    group by pairs.baseline_task_id, pairs.candidate_task_id, of_candidates.judged_name

)

select * from gaps
