-- One row per task whose score is one dimension: which.
with

titles as (select * from {{ ref('promptlab', 'int_titles') }}),
configs as (
    select * from {{ ref('promptlab', 'stg_tasks__dimension_configs') }}
    where coalesce(is_graded, true)
),

-- an analysis input has no verdicts of its tool, so they cannot be its score
tasks as (

    select
        *,
        coalesce(configured_primary = 'passed' and source_kind <> 'analysis', false)
            as is_by_verdict

    from titles

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
            case when tasks.is_by_verdict then 'passed' end,
            case
                when counted.n_weighted = 1 and tasks.source_kind not in ('analysis', 'results')
                    then counted.weighted_dimension_id
            end
        ) as primary_metric,

        ---------- booleans
        configs.dimension_id is not null or tasks.is_by_verdict as is_configured

    from tasks
    left join counted using (task_id)
    left join configs
        on
            tasks.task_id = configs.task_id
            and tasks.configured_primary = configs.dimension_id

)

select * from chosen
where primary_metric is not null
