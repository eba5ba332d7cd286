{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per task, dimension and case: the scores of its rounds as one score.
with

round_scores as (select * from {{ ref('promptlab', 'int_round_scores') }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
baselines as (select * from {{ ref('promptlab', 'stg_tasks__baselines') }} where {{ in_this_build() }}),

-- how much a case counts in a weighted mean: the highest confidence of its golden answers;
-- no confidence is full confidence
confidences as (

    select
        task_id,
        case_id,
        round(max(coalesce(confidence, 1)), 9) as confidence

    from baselines
    where baseline_type = 'golden_answer'
    group by task_id, case_id

),

counted as (

    select
        round_scores.task_id,
        round_scores.dimension_id,
        round_scores.case_id,
        count(*) as n_rounds,
        count(round_scores.score) as n_scored_rounds,
        count(*) filter (
            where round_scores.score >= coalesce(dimensions.pass_score, 1)
        ) as n_good,
        {{ exact_mean('round_scores.exact_score') }} as mean,
        median(round_scores.exact_score) as median,
        min(round_scores.exact_score) as lowest,
        max(round_scores.exact_score) as highest,
        case when count(round_scores.score) > 1 then var_pop(round_scores.exact_score) end
            as variance,
        avg(round_scores.exact_metric) filter (where round_scores.score is not null)
            as mean_metric,
        min(round_scores.exact_metric) filter (where round_scores.score is not null)
            as lowest_metric,
        max(round_scores.exact_metric) filter (where round_scores.score is not null)
            as highest_metric,
        min(round_scores.reason) filter (where round_scores.score is null) as reason

    from round_scores
    inner join dimensions using (task_id, dimension_id)
    group by round_scores.task_id, round_scores.dimension_id, round_scores.case_id

),

combined as (

    select
        counted.*,
        coalesce(confidences.confidence, 1) as confidence,
        case dimensions.reducer
            when 'mean' then counted.mean
            when 'median' then counted.median
            when 'min' then counted.lowest
            when 'max' then counted.highest
            when 'pass_at_k'
                then {{ pass_at_k('counted.n_scored_rounds', 'counted.n_good', 'dimensions.k') }}
            when 'pass_hat_k'
                then {{ pass_hat_k('counted.n_scored_rounds', 'counted.n_good', 'dimensions.k') }}
        end as combined_score

    from counted
    inner join dimensions using (task_id, dimension_id)
    left join confidences using (task_id, case_id)

),

reduced as (

    select

        ---------- ids
        task_id,
        dimension_id,
        case_id,

        ---------- numerics
        -- 12 digits, so that 1 is 1 and 0 is 0 however they were computed
        round(combined_score, 12) as score,
        confidence,
        round(variance, 12) as variance,
        lowest as lowest_score,
        round(mean_metric, 9) as mean_metric,
        lowest_metric,
        highest_metric,
        n_rounds,
        n_scored_rounds,

        ---------- strings
        -- it has rounds, but fewer than the k that the reducer draws
        case when score is null then coalesce(reason, 'too_few_rounds') end as reason

    from combined

)

select * from reduced
