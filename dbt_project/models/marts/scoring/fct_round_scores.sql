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
        metrics.task_id,
        metrics.case_id,
        metrics.round_id,
        metrics.dimension_id,
        dimensions.scorer,
        metrics.reason,
        dimensions.target_problem,
        metrics.metric,
        {{ score_of_metric('metrics', 'dimensions') }} as score

    from metrics
    inner join dimensions
        on
            metrics.task_id = dimensions.task_id
            and metrics.dimension_id = dimensions.dimension_id

),

final as (

    select

        ---------- ids
        task_id,
        case_id,
        round_id,
        dimension_id,

        ---------- strings
        scorer,
        case when score is null then 'unscored' else 'scored' end as status,
        coalesce(reason, case when score is null then target_problem end) as reason,

        ---------- numerics
        metric,
        score

    from scored

)

select * from final
