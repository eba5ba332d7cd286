{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per task and case: its yardstick, a hash of what its verdict depends on besides the answer
-- (question, assertions, judge). Verdicts by different yardsticks are not compared.
with

contents as (select * from {{ ref('promptlab', 'int_case_contents') }} where {{ in_this_build() }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimension_contents') }} where {{ in_this_build() }}),
scores as (select * from {{ ref('promptlab', 'int_scores_chosen') }}),
case_scores as (select * from {{ ref('promptlab', 'int_case_scores') }} where {{ in_this_build() }}),
checks as (
    select * from {{ ref('promptlab', 'stg_reported__checks') }}
    where status <> 'unevaluated' and {{ in_this_build() }}
),
tasks as (select * from {{ ref('promptlab', 'int_tasks_resolved') }} where {{ in_this_build() }}),
reported_judges as (select * from {{ ref('promptlab', 'stg_reported__judges') }} where {{ in_this_build() }}),

-- a rubric of promptfoo is a part of its assertion, and may be one of a single case
judges as (

    select
        reported_judges.task_id,
        reported_judges.judged_name,
        reported_judges.judge_model,
        reported_judges.template,
        case when tasks.source_kind <> 'promptfoo' then reported_judges.rubric end as rubric

    from reported_judges
    inner join tasks using (task_id)

),

-- one that a tool reports is only of the cases that have a score on it
deciding as (

    select
        case_scores.task_id,
        case_scores.case_id,
        case_scores.dimension_id,
        concat_ws(
            ' ',
            case_scores.dimension_id,
            dimensions.scorer,
            dimensions.scoring_mode,
            dimensions.grading_text
        ) as part

    from case_scores
    inner join dimensions using (task_id, dimension_id)
    where
        dimensions.is_deciding
        and (case_scores.n_scored_rounds > 0 or dimensions.scorer <> 'reported')

),

dimensions_joined as (

    select
        task_id,
        case_id,
        string_agg(part, chr(10) order by part) as parts

    from deciding
    group by task_id, case_id

),

-- who gave the scores of the case, and which model a tool says judged its assertions
judge_parts as (

    select
        deciding.task_id,
        deciding.case_id,
        concat_ws(
            ' ', deciding.dimension_id, scores.scored_by, coalesce(scores.scored_by_version, '-')
        ) as part

    from deciding
    inner join scores using (task_id, case_id, dimension_id)

    union

    select
        checks.task_id,
        checks.case_id,
        concat_ws(
            ' ',
            'check',
            judges.judged_name,
            coalesce(judges.judge_model, '-'),
            coalesce(judges.template, '-'),
            coalesce(judges.rubric, '-')
        ) as part

    from checks
    inner join judges on checks.task_id = judges.task_id and checks.check_name = judges.judged_name

    union

    select
        deciding.task_id,
        deciding.case_id,
        concat_ws(
            ' ',
            'dimension',
            judges.judged_name,
            coalesce(judges.judge_model, '-'),
            coalesce(judges.template, '-'),
            coalesce(judges.rubric, '-')
        ) as part

    from deciding
    inner join judges
        on deciding.task_id = judges.task_id and deciding.dimension_id = judges.judged_name

),

judges_joined as (

    select
        task_id,
        case_id,
        md5(string_agg(part, chr(10) order by part)) as judge_hash

    from judge_parts
    group by task_id, case_id

),

hashed as (

    select
        contents.task_id,
        contents.case_id,
        contents.inputs_hash as question_hash,
        -- of results with a testset only the must-haves of the file count, after the stroke
        md5(concat_ws(
            ' ',
            coalesce(contents.expectations_hash, '-'),
            coalesce(contents.references_hash, '-'),
            case
                when contents.expectations_hash is null then coalesce(contents.assertions_hash, '-')
                else coalesce(nullif(split_part(contents.assertions_hash, '/', 2), ''), '-')
            end,
            coalesce(dimensions_joined.parts, '-')
        )) as assertions_hash,
        coalesce(judges_joined.judge_hash, '-') as judge_hash

    from contents
    left join dimensions_joined using (task_id, case_id)
    left join judges_joined using (task_id, case_id)

),

yardsticks as (

    select

        ---------- ids
        task_id,
        case_id,

        ---------- strings
        question_hash,
        assertions_hash,
        judge_hash,
        md5(concat_ws(' ', question_hash, assertions_hash, judge_hash)) as yardstick

    from hashed

)

select * from yardsticks
