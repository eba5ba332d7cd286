{{ config(materialized='table') }}

-- One row per task and thing that is not as in the last run of its variant: prompt, model, settings, cases.
with

variants as (
    select * from {{ ref('promptlab', 'int_task_variants') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),
earlier as (select * from {{ ref('promptlab', 'int_task_variants') }}),
baselines as (
    select * from {{ ref('promptlab', 'int_task_baselines') }}
    where last_task_id is not null and {{ in_this_build('comparisons', 'task_id') }}
),
tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),

read_tasks as (

    select task_id
    from variants

    union

    select last_task_id as task_id
    from baselines

),

contents as (
    select * from {{ ref('promptlab', 'int_task_contents') }}
    where task_id in (select read_tasks.task_id from read_tasks)
),
yardsticks as (
    select * from {{ ref('promptlab', 'int_case_yardsticks') }}
    where task_id in (select read_tasks.task_id from read_tasks)
),
case_rounds as (
    select * from {{ ref('promptlab', 'int_case_rounds') }}
    where n_rounds > 0 and task_id in (select read_tasks.task_id from read_tasks)
),


pairs as (

    select
        variants.task_id,
        baselines.last_task_id,
        variants.prompt_hash <> earlier.prompt_hash as has_other_prompt,
        coalesce(variants.prompt_name, variants.variant) as prompt_name,
        tasks.model <> tasks_before.model as has_other_model,
        tasks.model,
        case when variants.variant <> earlier.variant then earlier.variant end as earlier_variant,
        coalesce(contents.settings_hash, '') <> coalesce(contents_before.settings_hash, '')
            as has_other_settings

    from variants
    inner join baselines using (task_id)
    inner join earlier on baselines.last_task_id = earlier.task_id
    inner join tasks on variants.task_id = tasks.task_id
    inner join tasks as tasks_before on baselines.last_task_id = tasks_before.task_id
    left join contents on variants.task_id = contents.task_id
    left join contents as contents_before on baselines.last_task_id = contents_before.task_id

),

judged as (

    select
        yardsticks.task_id,
        yardsticks.case_id,
        yardsticks.question_hash,
        yardsticks.assertions_hash,
        yardsticks.judge_hash

    from yardsticks
    inner join case_rounds using (task_id, case_id)

),

now as (

    select
        pairs.task_id,
        judged.case_id,
        judged.question_hash,
        judged.assertions_hash,
        judged.judge_hash

    from pairs
    inner join judged using (task_id)

),

before as (

    select
        pairs.task_id,
        judged.case_id,
        judged.question_hash,
        judged.assertions_hash,
        judged.judge_hash

    from pairs
    inner join judged on pairs.last_task_id = judged.task_id

),

-- a case without a verdict was not added or removed
sides as (

    select
        pairs.task_id,
        yardsticks.case_id,
        max(case when yardsticks.task_id = pairs.task_id then 1 else 0 end) as is_asked_now,
        max(case when yardsticks.task_id = pairs.last_task_id then 1 else 0 end) as was_asked

    from pairs
    inner join yardsticks
        on pairs.task_id = yardsticks.task_id or pairs.last_task_id = yardsticks.task_id
    group by pairs.task_id, yardsticks.case_id

),

cases as (

    select
        task_id,
        case_id,
        case
            when sides.was_asked = 0 then 'cases_added'
            when sides.is_asked_now = 0 then 'cases_removed'
            when now.question_hash <> before.question_hash then 'questions'
            when now.assertions_hash <> before.assertions_hash then 'assertions'
            when now.judge_hash <> before.judge_hash then 'judge'
        end as what

    from now
    full outer join before using (task_id, case_id)
    inner join sides using (task_id, case_id)

),

changes as (

    select
        task_id,
        1 as position,
        'prompt' as what,
        prompt_name as name,
        cast(null as bigint) as n_cases

    from pairs
    where has_other_prompt

    union all

    select
        task_id,
        2 as position,
        'model' as what,
        model as name,
        cast(null as bigint) as n_cases

    from pairs
    where has_other_model

    union all

    select
        task_id,
        3 as position,
        'settings' as what,
        cast(null as string) as name,
        cast(null as bigint) as n_cases

    from pairs
    where has_other_settings

    union all

    select
        task_id,
        4 as position,
        'variant' as what,
        earlier_variant as name,
        cast(null as bigint) as n_cases

    from pairs
    where earlier_variant is not null and not has_other_model

    union all

    select
        task_id,
        5 as position,
        what,
        cast(null as string) as name,
        count(*) as n_cases

    from cases
    where what is not null
    group by task_id, what

)

select * from changes
