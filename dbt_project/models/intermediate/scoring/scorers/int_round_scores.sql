{{ config(materialized=view_of_step()) }}

-- Metric and score of every round on every dimension, before any rounding: what is
-- computed from scores starts here, so that each number is rounded once.
with

metrics as (

    select * from {{ ref('int_round_metrics') }}

    union all

    select * from {{ ref('int_stability_scored') }}

),
dimensions as (select * from {{ ref('int_dimensions_resolved') }}),

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
    inner join dimensions using (task_id, dimension_id)

),

explained as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        scorer,
        coalesce(reason, case when score is null then target_problem end) as reason,
        metric,
        score

    from scored

)

select * from explained
