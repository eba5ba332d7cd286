{{ config(materialized='table') }}

-- One row per task and thing that is not as in the last run of its history (the base branch's first; a renamed variant
-- continues the old one): prompt, model, settings, the variant's name, and per kind of edit the number of cases.
with

variants as (
    select * from {{ ref('promptlab', 'int_task_variants') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),
earlier_variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),
baselines as (
    select * from {{ ref('promptlab', 'int_task_baselines') }}
    where last_task_id is not null and {{ in_this_build('comparisons', 'task_id') }}
),
tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
contents as (
    select * from {{ ref('promptlab', 'int_task_contents') }}
    where
        task_id in (select baselines.task_id from baselines)
        or task_id in (select baselines.last_task_id from baselines)
),
edited_cases as (select * from {{ ref('promptlab', 'int_edited_cases') }}),

compared as (

    select
        variants.task_id,
        variants.prompt_hash <> before.prompt_hash as has_other_prompt,
        coalesce(variants.prompt_name, variants.variant) as prompt_name,
        tasks.model <> tasks_before.model as has_other_model,
        tasks.model,
        case when variants.variant <> before.variant then before.variant end as earlier_name,
        coalesce(contents.settings_hash, '') <> coalesce(contents_before.settings_hash, '')
            as has_other_settings

    from variants
    inner join baselines using (task_id)
    inner join earlier_variants as before on baselines.last_task_id = before.task_id
    inner join tasks on variants.task_id = tasks.task_id
    inner join tasks as tasks_before on baselines.last_task_id = tasks_before.task_id
    left join contents on variants.task_id = contents.task_id
    left join contents as contents_before on baselines.last_task_id = contents_before.task_id

),

changes as (

    select
        task_id,
        1 as position,
        'prompt' as what,
        prompt_name as name,
        cast(null as bigint) as n_cases

    from compared
    where has_other_prompt

    union all

    select
        task_id,
        2 as position,
        'model' as what,
        model as name,
        cast(null as bigint) as n_cases

    from compared
    where has_other_model

    union all

    select
        task_id,
        3 as position,
        'settings' as what,
        cast(null as string) as name,
        cast(null as bigint) as n_cases

    from compared
    where has_other_settings

    union all

    -- another model is another name anyway
    select
        task_id,
        4 as position,
        'variant' as what,
        earlier_name as name,
        cast(null as bigint) as n_cases

    from compared
    where earlier_name is not null and not has_other_model

    union all

    select
        task_id,
        5 as position,
        what,
        cast(null as string) as name,
        count(*) as n_cases

    from edited_cases
    group by task_id, what

)

select * from changes
