-- One row per task whose overall score is that of one dimension (`primary_metric`): the one that the
-- config names, the verdicts of its tool (`passed`), or the only one with a weight in another tool's file.
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

weighted_dimensions as (

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
                when weighted_dimensions.n_weighted = 1 and tasks.source_kind not in ('analysis', 'results')
                    then weighted_dimensions.weighted_dimension_id
            end
        ) as primary_metric,

        ---------- booleans
        configs.dimension_id is not null or tasks.is_by_verdict as is_configured

    from tasks
    left join weighted_dimensions using (task_id)
    left join configs
        on
            tasks.task_id = configs.task_id
            and tasks.configured_primary = configs.dimension_id

)

select * from chosen
where primary_metric is not null
