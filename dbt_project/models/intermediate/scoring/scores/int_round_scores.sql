-- One row per round and dimension: `metric` is what the scorer measured, `score` what that is worth from 0 to 1.
with

dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
metrics as (select * from {{ ref('promptlab', 'int_round_metrics') }}),

scored as (

    select
        metrics.*,
        dimensions.scorer,
        dimensions.target_problem,
        {{ score_of_metric('metrics', 'dimensions') }} as score

    from metrics
    inner join dimensions using (task_id, dimension_id)

),

-- the scorer `stability` looks at the scores of another dimension
stability_dimensions as (

    select * from dimensions
    where scorer = 'stability' and problem is null

),

referred_scores as (

    select
        scored.task_id,
        scored.case_id,
        scored.round_id,
        stability_dimensions.dimension_id,
        scored.reason,
        scored.score,
        count(scored.score) over in_case as n_scored,
        stddev_pop(scored.score) over in_case as sd

    from stability_dimensions
    inner join scored
        on
            stability_dimensions.task_id = scored.task_id
            and stability_dimensions.stability_of = scored.dimension_id
    window in_case as (
        partition by scored.task_id, scored.case_id, stability_dimensions.dimension_id
    )

),

-- 1 - sd / 0.5 of the scores within a case, at least 0, the same for each of its scored
-- rounds; an error round counts in the sd, and has no stability
stability as (

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
        end as reason

    from referred_scores

),

all_scored as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        scorer,
        target_problem,
        metric,
        reason,
        score,
        expected,
        actual,
        detail

    from scored

    union all

    select
        stability.task_id,
        stability.case_id,
        stability.round_id,
        stability.dimension_id,
        stability_dimensions.scorer,
        stability_dimensions.target_problem,
        stability.metric,
        stability.reason,
        {{ score_of_metric('stability', 'stability_dimensions') }} as score,
        cast(null as string) as expected,
        cast(null as string) as actual,
        cast(null as json) as detail

    from stability
    inner join stability_dimensions using (task_id, dimension_id)

),

explained as (

    select

        ---------- ids
        all_scored.task_id,
        all_scored.case_id,
        all_scored.round_id,
        all_scored.dimension_id,

        ---------- strings
        all_scored.scorer,
        coalesce(
            all_scored.reason,
            case when all_scored.score is null then all_scored.target_problem end
        ) as reason,
        all_scored.expected,
        all_scored.actual,

        ---------- numerics
        -- later numbers are computed from the exact ones, so that each is rounded once
        all_scored.metric as exact_metric,
        all_scored.score as exact_score,
        round(all_scored.metric, 6) as metric,
        round(all_scored.score, 6) as score,

        ---------- json
        all_scored.detail

    from all_scored

)

select * from explained
