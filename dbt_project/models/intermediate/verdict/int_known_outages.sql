-- One row per task that the config names as a known outage, by its run or its id: something else was
-- down, so no history counts it.
with

tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
titles as (select * from {{ ref('promptlab', 'int_titles') }}),
settings as (select * from {{ ref('promptlab', 'stg_builds__settings') }} where setting = 'known_outage'),

outages as (

    select distinct titles.task_id

    from titles
    inner join tasks using (task_id)
    inner join settings
        on
            titles.title = settings.setting_name
            and settings.setting_value in (tasks.run_id, tasks.task_id)

)

select * from outages
