{{ config(materialized=view_of_step()) }}

with

tasks as (select * from {{ ref('int_titles') }}),
configs as (
    select * from {{ ref('stg_tasks__dimension_configs') }}
    where coalesce(is_graded, true)
),

counted as (

    select
        task_id,
        count(*) filter (where weight > 0) as n_weighted,
        max(case when weight > 0 then dimension_id end) as weighted_dimension_id

    from configs
    group by task_id

),

chosen as (

    select

        ---------- ids
        tasks.task_id,

        ---------- strings
        coalesce(
            configs.dimension_id,
            case when tasks.configured_primary = 'passed' then 'passed' end,
            case
                when counted.n_weighted = 1 and tasks.source_kind not in ('analysis', 'results')
                    then counted.weighted_dimension_id
            end
        ) as primary_metric,

        ---------- booleans
        configs.dimension_id is not null or coalesce(tasks.configured_primary = 'passed', false)
            as is_configured

    from tasks
    left join counted using (task_id)
    left join configs
        on
            tasks.task_id = configs.task_id
            and tasks.configured_primary = configs.dimension_id

)

select * from chosen
where primary_metric is not null
