-- One row per task and dimension: the 95 % interval of its score.
with

dimensions as (select * from {{ ref('promptlab', 'int_dimension_scores') }}),
case_scores as (select * from {{ ref('promptlab', 'int_case_scores') }} where {{ in_this_build() }}),
cases as (select * from {{ ref('promptlab', 'stg_tasks__cases') }} where {{ in_this_build() }}),

-- mean: over cases, each with its weight; those of a cluster are one piece of evidence
of_clusters as (

    select
        dimensions.task_id,
        dimensions.dimension_id,
        count(*) as n_cases,
        bool_and(case_scores.score = 1) as is_right,
        bool_and(case_scores.score = 0) as is_wrong,
        sum(case_scores.confidence) as sum_of_weights,
        sum(case_scores.confidence * (case_scores.score - dimensions.exact_score)) as pull

    from dimensions
    inner join case_scores using (task_id, dimension_id)
    inner join cases using (task_id, case_id)
    where
        dimensions.aggregation = 'mean'
        and case_scores.score is not null
        and case_scores.confidence > 0
    group by dimensions.task_id, dimensions.dimension_id, cases.cluster_id

),

-- where all cases are right, or none, clusters do not differ: each is one answer
weighted as (

    select
        task_id,
        dimension_id,
        count(*) as n,
        case
            when bool_and(is_right) or bool_and(is_wrong) then 'wilson'
            when count(*) < sum(n_cases) then 'clusters'
            when bool_and(is_right or is_wrong) then 'wilson'
            else 't'
        end as ci_method,
        sum(sum_of_weights) as sum_of_weights,
        sum(power(sum_of_weights, 2)) as sum_of_squared_weights,
        sum(power(pull, 2)) as spread

    from of_clusters
    group by task_id, dimension_id

),

mean_spans as (

    select
        task_id,
        dimension_id,
        ci_method,
        power(sum_of_weights, 2) / sum_of_squared_weights as wilson_n,
        sqrt(n / (n - 1e0) * spread) / sum_of_weights * {{ t_quantile('(n - 1)') }} as half_width

    from weighted
    where n > 1

),

-- trimmed and winsorized mean: Tukey and McLaughlin, on the scores pulled in
robust_spans as (

    select
        task_id,
        dimension_id,
        'tukey_mclaughlin' as ci_method,
        cast(null as double) as wilson_n,
        winsorized_sd / ((1 - 2 * trim_share) * sqrt(cast(n_scored_cases as double)))
        * {{ t_quantile('(n_scored_cases - 2 * n_cut - 1)') }} as half_width

    from dimensions
    where aggregation in ('trimmed_mean', 'winsorized_mean') and n_scored_cases - 2 * n_cut > 1

),

spans as (

    select * from mean_spans

    union all

    select * from robust_spans

    union all

    -- median: two of the scores
    select
        task_id,
        dimension_id,
        'order_statistics' as ci_method,
        cast(null as double) as wilson_n,
        cast(null as double) as half_width

    from dimensions
    where aggregation = 'median' and median_low is not null

),

bounded as (

    select
        dimensions.task_id,
        dimensions.dimension_id,
        dimensions.score,
        dimensions.aggregation,
        spans.ci_method,
        case spans.ci_method
            when 'wilson' then {{ wilson_bound('dimensions.exact_score', 'spans.wilson_n', -1) }}
            when 'order_statistics' then dimensions.median_low
            else dimensions.exact_score - spans.half_width
        end as lower_bound,
        case spans.ci_method
            when 'wilson' then {{ wilson_bound('dimensions.exact_score', 'spans.wilson_n', 1) }}
            when 'order_statistics' then dimensions.median_high
            else dimensions.exact_score + spans.half_width
        end as upper_bound,
        round(greatest(0.0, lower_bound), 6) as ci_low,
        round(least(1.0, upper_bound), 6) as ci_high

    from dimensions
    left join spans using (task_id, dimension_id)

),

intervals as (

    select

        ---------- ids
        task_id,
        dimension_id,

        ---------- strings
        case when ci_low < ci_high then ci_method end as ci_method,
        case
            when score is null then 'unscored'
            when aggregation in ('min', 'p10') then 'no_interval_for_aggregation'
            when ci_method is null then 'too_few_cases'
            -- an interval of width 0 is dropped: it would suggest certainty
            when ci_low >= ci_high then 'no_spread'
        end as ci_reason,

        ---------- numerics
        case when ci_method is not null and ci_low < ci_high then ci_low end as ci_low,
        case when ci_method is not null and ci_low < ci_high then ci_high end as ci_high

    from bounded

)

select * from intervals
