-- One row per task: a hash of all that its numbers depend on. Where it is another one than at the last
-- build, int_tasks_to_build has the task computed again.
with

tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
titles as (select * from {{ ref('promptlab', 'int_titles') }}),
resolved as (select * from {{ ref('promptlab', 'int_tasks_resolved') }}),
testsets as (select * from {{ ref('promptlab', 'stg_testsets__testsets') }}),
pipelines as (select * from {{ ref('promptlab', 'stg_pipelines__pipelines') }}),
scores as (select * from {{ ref('promptlab', 'stg_scores__scores') }}),
prices as (select * from {{ ref('promptlab', 'int_task_prices') }}),

-- a renamed variant may be one of any task
renames as (

    select string_agg(setting_name || ' ' || setting_value, ',' order by setting_name) as variants
    from {{ ref('promptlab', 'stg_builds__settings') }}
    where setting = 'variant'

),

memory_settings as (

    select
        string_agg(
            setting_name || ' ' || coalesce(setting_value, ''), ',' order by setting_name
        ) as settings
    from {{ ref('promptlab', 'stg_builds__settings') }}
    where setting in ('memory', 'memory_abstention')

),

loads_of_scores as (

    select
        task_id,
        string_agg(
            distinct cast(load_id as string), ',' order by cast(load_id as string)
        ) as load_ids

    from scores
    group by task_id

),

versions as (

    select
        tasks.task_id,
        titles.title,
        md5(concat_ws(
            ' ',
            tasks.load_id,
            coalesce(testsets.load_id, 0),
            coalesce(pipelines.load_id, 0),
            coalesce(loads_of_scores.load_ids, '-'),
            resolved.testset_source,
            titles.title,
            coalesce(titles.configured_primary, '-'),
            coalesce(cast(prices.input_price as string), '-'),
            coalesce(cast(prices.output_price as string), '-'),
            renames.variants,
            case when resolved.source_kind = 'memory' then memory_settings.settings end
        )) as fingerprint

    from tasks
    inner join resolved using (task_id)
    inner join titles using (task_id)
    left join testsets on resolved.testset_id = testsets.testset_id
    left join pipelines on resolved.pipeline_id = pipelines.pipeline_id
    left join loads_of_scores using (task_id)
    left join prices using (task_id)
    cross join renames
    cross join memory_settings

)

select * from versions
