{{ config(materialized=view_of_step()) }}

-- One row per task: the number of its run in its title, by time, and the name of its variant: as
-- given, else provider and prompt. It may not be unique in the run; int_task_variants makes it so.
with

tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
titles as (select * from {{ ref('promptlab', 'int_titles') }}),
prompts as (select * from {{ ref('promptlab', 'int_task_prompts') }}),
renames as (select * from {{ ref('promptlab', 'stg_builds__settings') }} where setting = 'variant'),

described as (

    select
        tasks.task_id,
        titles.title,
        tasks.variant as given_name,
        tasks.provider,
        tasks.prompt_name,
        tasks.prompt_position,
        coalesce(tasks.run_id, tasks.task_id) as run_id,
        coalesce(prompts.prompt_hash, md5(tasks.prompt_version)) as prompt_hash,
        coalesce(
            tasks.branch is null
            or tasks.branch = tasks.base_branch
            or (tasks.base_branch is null and tasks.branch in ('main', 'master')),
            false
        ) as is_base_branch,
        tasks.recheck_of,
        tasks.branch,
        tasks.load_id,
        tasks.created_at

    from tasks
    inner join titles using (task_id)
    left join prompts using (task_id)

),

dated as (

    select
        *,
        min(created_at) over (partition by title, run_id) as run_created_at,
        min(load_id) over (partition by title, run_id) as run_load_id

    from described

),

-- a re-check is not a run of the history: it is numbered apart
runs_numbered as (

    select
        *,
        cast(dense_rank() over (
            partition by title, recheck_of is null
            order by
                run_created_at nulls last,
                -- only runs without a time are in the order in which they were loaded
                case when run_created_at is null then run_load_id end,
                run_id
        ) as bigint) as run_number

    from dated

),

-- the run and the position where the text of a prompt without a label was first seen
first_seen as (

    select
        *,
        min(case when recheck_of is null then run_number end) over (
            partition by title, provider, prompt_hash, prompt_name is null
        ) as first_run_number,
        first_value(prompt_position) over (
            partition by title, provider, prompt_hash, prompt_name is null
            order by recheck_of is not null, run_number, prompt_position, task_id
        ) as first_position

    from runs_numbered

),

named as (

    select
        *,
        coalesce(
            given_name,
            concat_ws(
                ' × ',
                provider,
                coalesce(prompt_name, 'prompt ' || cast(first_position + 1 as string))
            )
        ) as name_before_config

    from first_seen

),

final as (

    select

        ---------- ids
        named.task_id,
        named.run_id,
        named.prompt_hash,
        named.recheck_of,

        ---------- strings
        named.title,
        coalesce(renames.setting_value, named.name_before_config) as name,
        named.provider,
        named.prompt_name,
        named.branch,

        ---------- numerics
        named.run_number,
        named.first_run_number,
        named.prompt_position,

        ---------- booleans
        named.is_base_branch,
        named.given_name is not null as is_given,

        ---------- timestamps
        named.created_at

    from named
    left join renames on named.name_before_config = renames.setting_name

)

select * from final
