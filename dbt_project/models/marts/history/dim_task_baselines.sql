-- The task that a task is compared with: the one that a person named for its title and
-- testset, else the one before it. A named baseline never gives way to another in
-- silence: where it is gone, there is none.
with

tasks as (

    select * from {{ ref('dim_tasks') }}

),

loads as (

    select * from {{ ref('stg_loads__loads') }}

),

settings as (

    select
        *,
        row_number() over (
            partition by title, testset_id order by set_at desc, task_id
        ) as newness

    from {{ ref('stg_tasks__named_baselines') }}

),

named as (

    select
        settings.title,
        settings.testset_id,
        settings.task_id as named_task_id,
        settings.set_at,
        tasks.task_id as baseline_task_id,
        loads.finished_at > settings.set_at as is_changed

    from settings
    left join tasks on settings.task_id = tasks.task_id
    left join loads on tasks.load_id = loads.load_id
    where settings.newness = 1 and settings.task_id is not null

),

ordered as (

    select
        task_id,
        title,
        testset_id,
        lag(task_id) over (partition by title order by created_at, task_id) as previous_task_id

    from tasks

),

final as (

    select

        ---------- ids
        ordered.task_id,
        case
            when named.named_task_id is null then ordered.previous_task_id
            else named.baseline_task_id
        end as baseline_task_id,
        ordered.previous_task_id,
        named.named_task_id,

        ---------- strings
        case
            when named.baseline_task_id is not null then 'named'
            when named.named_task_id is not null then 'gone'
            when ordered.previous_task_id is not null then 'previous'
            else 'none'
        end as baseline_source,

        ---------- booleans
        named.is_changed as is_baseline_changed,

        ---------- timestamps
        named.set_at as baseline_set_at

    from ordered
    -- a task is no baseline of its own
    left join named
        on
            ordered.title = named.title
            and ordered.testset_id is not distinct from named.testset_id
            and ordered.task_id <> named.named_task_id

)

select * from final
