with

settings as (

    select
        *,
        row_number() over (
            partition by title, testset_id order by set_at desc, task_id asc
        ) as newness

    from {{ ref('stg_tasks__named_baselines') }}

),

tasks as (

    select * from {{ ref('dim_tasks') }}

),

loads as (

    select * from {{ ref('stg_loads__loads') }}

),

final as (

    select

        ---------- ids
        settings.testset_id,
        settings.task_id,

        ---------- strings
        settings.title,
        case
            when tasks.task_id is null then 'gone'
            when loads.finished_at > settings.set_at then 'changed'
            else 'ok'
        end as state,

        ---------- timestamps
        settings.set_at

    from settings
    left join tasks on settings.task_id = tasks.task_id
    left join loads on tasks.load_id = loads.load_id
    where settings.newness = 1 and settings.task_id is not null

)

select * from final
