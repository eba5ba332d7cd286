{{ config(
    unique_key='task_id', meta={'batch': 'comparisons', 'mentions': ['recheck_task_id']}
) }}

with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),
given as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
prompts as (select * from {{ ref('promptlab', 'int_task_prompts') }}),
baselines as (
    select * from {{ ref('promptlab', 'int_task_baselines') }}
    where baseline_task_id is not null
),

-- in files of other tools the version of the prompt may be the name of the file
described as (

    select
        variants.*,
        prompts.prompt_hash as text_hash,
        case
            when given.source_kind in ('analysis', 'results') then given.prompt_version
        end as version

    from variants
    inner join given using (task_id)
    left join prompts using (task_id)

),

tasks as (select * from described where recheck_of is null),

rechecks as (

    select
        *,
        count(*) over (partition by recheck_of, run_id) as n_in_run

    from described
    where recheck_of is not null

),

-- a re-check names a task, or a run with several: then the one of its variant is meant
named as (

    select
        rechecks.task_id as recheck_task_id,
        rechecks.created_at,
        rechecks.n_in_run,
        tasks.task_id,
        count(*) over (partition by rechecks.task_id) as n_named,
        case
            -- the answers to another prompt say nothing about this one
            when
                coalesce(
                    rechecks.text_hash <> tasks.text_hash,
                    rechecks.version <> tasks.version,
                    false
                )
                then 4
            when rechecks.variant = tasks.variant then 1
            when
                rechecks.provider = tasks.provider
                and rechecks.prompt_hash = tasks.prompt_hash
                then 2
            when rechecks.provider = tasks.provider then 3
            -- nor do those of another model
            else 4
        end as distance

    from rechecks
    inner join tasks
        on rechecks.recheck_of = tasks.task_id or rechecks.recheck_of = tasks.run_id
    -- a re-check of a run that another one with its id replaced since
    where rechecks.created_at < tasks.created_at is not true

),

ranked as (

    select
        *,
        row_number() over (
            partition by recheck_task_id order by distance, task_id
        ) as choice

    from named
    where distance < 3 or (distance = 3 and n_named = 1 and n_in_run = 1)

),

sides as (

    select
        ranked.task_id,
        ranked.recheck_task_id,
        ranked.task_id as repeated_task_id,
        'now' as side

    from ranked
    inner join baselines using (task_id)
    where ranked.choice = 1

    union all

    -- the baseline, or a run before it that was shipped with the same prompt, is asked again
    -- after the task was: at the same time as the task
    select
        baselines.task_id,
        ranked.recheck_task_id,
        ranked.task_id as repeated_task_id,
        'before' as side

    from ranked
    inner join tasks as repeated on ranked.task_id = repeated.task_id
    inner join tasks as earlier
        on
            repeated.title = earlier.title
            and repeated.variant = earlier.variant
            and repeated.prompt_hash is not distinct from earlier.prompt_hash
    inner join baselines on earlier.task_id = baselines.baseline_task_id
    inner join tasks on baselines.task_id = tasks.task_id
    where
        ranked.choice = 1
        and ranked.created_at >= tasks.created_at
        and (
            repeated.task_id = earlier.task_id
            or (
                repeated.is_eligible
                and repeated.is_settled
                and repeated.run_number < earlier.run_number
            )
        )

)

select * from sides
