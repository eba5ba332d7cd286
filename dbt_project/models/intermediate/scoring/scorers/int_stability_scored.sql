{{ config(materialized=view_of_step()) }}

-- How little the scores of another dimension vary within a case: 1 - sd / 0.5, floor 0,
-- the same for each of its scored
-- rounds. An error round counts there, and has no stability of its own.
with

dimensions as (select * from {{ ref('int_dimensions_resolved') }}),
metrics as (select * from {{ ref('int_round_metrics') }}),

referred_scores as (

    select
        metrics.task_id,
        metrics.case_id,
        metrics.round_id,
        dimensions.dimension_id,
        metrics.reason,
        {{ score_of_metric('metrics', 'referred') }} as score

    from dimensions
    inner join dimensions as referred
        on
            dimensions.task_id = referred.task_id
            and dimensions.stability_of = referred.dimension_id
    inner join metrics
        on
            referred.task_id = metrics.task_id
            and referred.dimension_id = metrics.dimension_id
    where dimensions.scorer = 'stability' and dimensions.problem is null

),

spread as (

    select
        *,
        count(score) over in_case as n_scored,
        stddev_pop(score) over in_case as sd

    from referred_scores
    window in_case as (partition by task_id, case_id, dimension_id)

),

scored as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        case
            when reason = 'error_round' then null
            when score is not null and n_scored > 1 then greatest(0.0, 1 - sd / 0.5)
        end as metric,
        case
            when reason = 'error_round' then reason
            when score is null then 'reference_unscored'
            when n_scored = 1 then 'single_round'
        end as reason,
        cast(null as string) as expected,
        cast(null as string) as actual,
        {{ as_json("null") }} as detail

    from spread

)

select * from scored
