-- One row per task: its title, and what the config says of that title.
with

tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
names as (select * from {{ ref('promptlab', 'stg_builds__settings') }} where setting = 'title'),
primaries as (select * from {{ ref('promptlab', 'stg_builds__settings') }} where setting = 'primary'),
owners as (select * from {{ ref('promptlab', 'stg_builds__settings') }} where setting = 'owner'),

titled as (

    select
        tasks.task_id,
        tasks.source_kind,
        coalesce(names.setting_value, tasks.title) as title

    from tasks
    left join names on tasks.title = names.setting_name

),

joined as (

    select

        ---------- ids
        titled.task_id,

        ---------- strings
        titled.source_kind,
        titled.title,
        primaries.setting_value as configured_primary,
        owners.setting_value as configured_owner

    from titled
    left join primaries on titled.title = primaries.setting_name
    left join owners on titled.title = owners.setting_name

)

select * from joined
