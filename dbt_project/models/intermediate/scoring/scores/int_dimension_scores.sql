-- One row per task and dimension: the scores of its cases as one score.
with

dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
case_scores as (select * from {{ ref('promptlab', 'int_case_scores') }} where {{ in_this_build() }}),
ranked as (select * from {{ ref('promptlab', 'int_rank_statistics') }}),
metrics as (select * from {{ ref('promptlab', 'int_dimension_metrics') }}),
weights as (select * from {{ ref('promptlab', 'int_dimension_weights') }}),

counted as (

    select
        task_id,
        dimension_id,
        count(*) filter (where score is not null) as n_scored_cases,
        cast(sum(n_scored_rounds) as bigint) as n_scored_rounds,
        cast(sum(n_rounds) as bigint) as n_rounds,
        {{ exact_weighted_sum('confidence', 'score') }}
        / nullif({{ exact_sum('case when score is not null then confidence end') }}, 0)
            as weighted_mean,
        min(score) as lowest,
        percentile_cont(0.1) within group (order by score) as p10,
        min(confidence) filter (where score is not null)
        <> max(confidence) filter (where score is not null) as has_unequal_confidences,
        {{ exact_mean('variance') }} as mean_variance,
        count(variance) as n_cases_with_variance

    from case_scores
    group by task_id, dimension_id

),

aggregated as (

    select

        ---------- ids
        dimensions.task_id,
        dimensions.dimension_id,

        ---------- strings
        dimensions.aggregation,

        ---------- numerics
        case dimensions.aggregation
            when 'mean' then counted.weighted_mean
            when 'median' then ranked.median
            when 'trimmed_mean' then ranked.trimmed_mean
            when 'winsorized_mean' then ranked.winsorized_mean
            when 'min' then counted.lowest
            when 'p10' then counted.p10
        end as exact_score,
        round(exact_score, 6) as score,
        coalesce(counted.n_rounds, 0) as n_rounds,
        coalesce(counted.n_scored_rounds, 0) as n_scored_rounds,
        coalesce(counted.n_scored_cases, 0) as n_scored_cases,
        coalesce(counted.n_cases_with_variance, 0) as n_cases_with_variance,
        round(counted.mean_variance, 6) as mean_variance,
        dimensions.trim_share,
        ranked.n_cut,
        ranked.median_low,
        ranked.median_high,
        ranked.winsorized_sd,

        ---------- booleans
        coalesce(counted.has_unequal_confidences, false) as has_unequal_confidences,
        dimensions.aggregation = 'mean'
        and coalesce(counted.has_unequal_confidences, false) as is_confidence_weighted

    from dimensions
    left join counted using (task_id, dimension_id)
    left join ranked using (task_id, dimension_id)

),

explained as (

    select
        aggregated.*,
        weights.weight_used,
        weights.task_weight_scored,
        weights.task_weight_configured,
        case
            when aggregated.n_rounds = 0 then 'no_rounds'
            when aggregated.score is not null or aggregated.n_scored_rounds = 0
                then metrics.main_reason
            when aggregated.n_scored_cases = 0 then 'too_few_rounds'
            else 'no_confidence'
        end as unscored_reason

    from aggregated
    inner join metrics using (task_id, dimension_id)
    inner join weights using (task_id, dimension_id)

)

select * from explained
