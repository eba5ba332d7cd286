{{ config(materialized=view_of_step()) }}

with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),
settings as (select * from {{ ref('promptlab', 'stg_builds__settings') }} where setting = 'known_outage'),

outages as (

    select distinct variants.task_id

    from variants
    inner join settings
        on
            variants.title = settings.setting_name
            and settings.setting_value in (variants.run_id, variants.task_id)

)

select * from outages
