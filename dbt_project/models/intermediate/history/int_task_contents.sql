{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per task: hashes of its model's settings, its judges, its expectations, and of all that grades
-- it (its yardstick: the dimensions and judges that decide), to tell what changed from run to run.
with

tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }} where {{ in_this_build() }}),
cases as (select * from {{ ref('promptlab', 'int_case_contents') }} where {{ in_this_build() }}),
dimensions as (select * from {{ ref('promptlab', 'stg_tasks__dimension_configs') }} where {{ in_this_build() }}),
scores as (select * from {{ ref('promptlab', 'stg_scores__scores') }} where {{ in_this_build() }}),
reported_judges as (select * from {{ ref('promptlab', 'stg_reported__judges') }} where {{ in_this_build() }}),
deciding as (
    select * from {{ ref('promptlab', 'int_dimension_contents') }}
    where {{ in_this_build() }} and is_deciding
),

expectations as (

    select
        task_id,
        md5(string_agg(
            concat_ws(
                ' ',
                case_id,
                coalesce(expectations_hash, '-'),
                coalesce(references_hash, '-'),
                coalesce(assertions_hash, '-')
            ),
            chr(10) order by case_id
        )) as expectation_hash

    from cases
    where coalesce(expectations_hash, references_hash, assertions_hash) is not null
    group by task_id

),

judges as (

    select
        task_id,
        judged_name,
        concat_ws(' ', judge_model, template, rubric) as judge

    from reported_judges

    union all

    select distinct
        task_id,
        dimension_id as judged_name,
        concat_ws(' ', scorer, scorer_version) as judge

    from scores

    union all

    select
        task_id,
        dimension_id as judged_name,
        {{ canonical_json('parameters') }} as judge

    from dimensions
    where coalesce(json_extract_string(parameters, '$.scorer'), dimension_id) = 'judge'

),

judges_joined as (

    select
        task_id,
        md5(string_agg(judged_name || ' ' || judge, chr(10) order by judged_name, judge))
            as judge_hash

    from judges
    group by task_id

),

-- a rubric is judged with the case that it belongs to
yardstick_parts as (

    select
        task_id,
        concat_ws(
            ' ', 'judge', judged_name, coalesce(judge_model, '-'), coalesce(template, '-')
        ) as part

    from reported_judges

    union

    select
        task_id,
        concat_ws(
            ' ',
            dimension_id,
            scorer,
            scoring_mode,
            coalesce(judges, '-'),
            grading_text
        ) as part

    from deciding

),

yardsticks as (

    select
        task_id,
        md5(string_agg(part, chr(10) order by part)) as yardstick_hash

    from yardstick_parts
    group by task_id

),

hashed as (

    select

        ---------- ids
        tasks.task_id,
        md5({{ canonical_json('tasks.settings') }}) as settings_hash,
        judges_joined.judge_hash,
        expectations.expectation_hash,
        yardsticks.yardstick_hash

    from tasks
    left join judges_joined using (task_id)
    left join expectations using (task_id)
    left join yardsticks using (task_id)

)

select * from hashed
