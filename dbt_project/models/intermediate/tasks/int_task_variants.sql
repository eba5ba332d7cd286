{{ config(materialized='table', unique_key='task_id') }}

{%- set of_text -%}
    partition by title, known_name, prompt_hash, copy_number
    order by shares_run_id, recheck_of is not null, run_number, place
{%- endset %}

with

tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
titles as (select * from {{ ref('promptlab', 'int_titles') }}),
prompts as (select * from {{ ref('promptlab', 'int_task_prompts') }}),
renames as (select * from {{ ref('promptlab', 'stg_builds__settings') }} where setting = 'variant'),

described as (

    select
        tasks.task_id,
        titles.title,
        tasks.variant as given_variant,
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
ordered as (

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

-- where the text of an unlabelled prompt was first seen
placed as (

    select
        *,
        first_value(prompt_position) over (
            partition by title, provider, prompt_hash, prompt_name is null
            order by recheck_of is not null, run_number, prompt_position, task_id
        ) as first_position,
        min(case when recheck_of is null then run_number end) over (
            partition by title, provider, prompt_hash, prompt_name is null
        ) as first_run_number

    from ordered

),

named as (

    select
        *,
        coalesce(
            given_variant,
            concat_ws(
                ' × ',
                provider,
                coalesce(
                    prompt_name,
                    'prompt ' || cast(first_position + 1 as string)
                )
            )
        ) as plain_name

    from placed

),

renamed as (

    select
        named.*,
        coalesce(renames.setting_value, named.plain_name) as known_name

    from named
    left join renames on named.plain_name = renames.setting_name

),

-- a later one is of another run with the same id
numbered as (

    select
        *,
        row_number() over (
            partition by title, run_id, known_name
            order by first_run_number nulls last, prompt_position nulls last, task_id
        ) as occurrence,
        row_number() over (
            partition by title, run_id, known_name
            order by
                case when prompt_name is not null then prompt_position end nulls last,
                first_run_number nulls last,
                prompt_position nulls last,
                task_id
        ) as place,
        row_number() over (
            partition by title, run_id, known_name, prompt_hash
            order by prompt_position nulls last, task_id
        ) as copy_number,
        coalesce(created_at > min(created_at) over of_name, false) as shares_run_id

    from renamed
    window of_name as (partition by title, run_id, known_name)

),

-- several prompts of one name in a run: a text keeps the place that it had when it was first
-- seen, wherever it stands now, and an edited one has the place of the text before it
slotted as (

    select
        *,
        case
            when shares_run_id or given_variant is not null then occurrence
            else first_value(place) over ({{ of_text }})
        end as slot

    from numbered

),

-- a text that was added at the place of one that is still there is another prompt, for good
in_run as (

    select
        *,
        row_number() over (
            partition by title, run_id, known_name, slot
            order by first_run_number nulls last, place
        ) as run_twin

    from slotted

),

twinned as (

    select
        *,
        case
            when shares_run_id or given_variant is not null then 1
            else first_value(run_twin) over ({{ of_text }})
        end as twin

    from in_run

),

-- of a text and an earlier version of it in one run, the earlier keeps the name
suffixed as (

    select
        *,
        row_number() over (
            partition by title, run_id, known_name, slot, twin
            order by first_run_number nulls last, place
        ) as version_number

    from twinned

),

variants as (

    select

        ---------- ids
        task_id,
        run_id,
        prompt_hash,
        recheck_of,

        ---------- strings
        title,
        case
            when slot = 1 and twin = 1 and version_number = 1 then known_name
            else
                known_name || ' (' || cast(slot as string)
                || case
                    when twin > 1 or version_number > 1 then '.' || cast(twin as string)
                    else ''
                end
                || case
                    when version_number > 1 then '.' || cast(version_number as string)
                    else ''
                end
                || ')'
        end as variant,
        provider,
        prompt_name,
        branch,

        ---------- numerics
        run_number,

        ---------- booleans
        is_base_branch,
        given_variant is not null as is_given,

        ---------- timestamps
        created_at

    from suffixed

)

select * from variants
