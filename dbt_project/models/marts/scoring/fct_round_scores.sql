with

metrics as (

    select * from {{ ref('int_round_metrics') }}

    union all

    select * from {{ ref('int_stability_scored') }}

),

dimensions as (

    select * from {{ ref('int_dimensions_resolved') }}

),

scored as (

    select

        ---------- ids
        metrics.task_id,
        metrics.case_id,
        metrics.round_id,
        metrics.dimension_id,

        ---------- strings
        dimensions.scorer,
        case when score is not null then 'scored' else 'unscored' end as status,
        coalesce(
            metrics.reason, case when score is null then dimensions.target_problem end
        ) as reason,

        ---------- numerics
        metrics.metric,
        {{ score_of_metric('metrics', 'dimensions') }} as score

    from metrics
    inner join dimensions
        on
            metrics.task_id = dimensions.task_id
            and metrics.dimension_id = dimensions.dimension_id

)

select * from scored
