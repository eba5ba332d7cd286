{{ config(materialized=view_of_step()) }}

-- One row per task and dimension: the 95 % interval of its score over cases, or why there
-- is none. An interval without width is none: it would read as certainty.
with

centres as (select * from {{ ref('int_dimension_centres') }}),
case_scores as (
    select * from {{ ref('int_case_scores') }}
    where {{ in_this_build() }} and score is not null
),
ranked as (select * from {{ ref('int_ranked_case_scores') }}),

-- mean: over cases, each with its weight
weighted as (

    select
        centres.task_id,
        centres.dimension_id,
        count(*) as n,
        bool_and(case_scores.score in (0, 1)) as is_all_or_nothing,
        sum(case_scores.confidence) as sum_of_weights,
        sum(power(case_scores.confidence, 2)) as sum_of_squared_weights,
        sum(power(case_scores.confidence * (case_scores.score - centres.centre), 2)) as spread

    from centres
    inner join case_scores using (task_id, dimension_id)
    where centres.aggregation = 'mean' and case_scores.confidence > 0
    group by centres.task_id, centres.dimension_id

),

mean_intervals as (

    select
        task_id,
        dimension_id,
        n as n_used,
        case when is_all_or_nothing then 'wilson' else 't' end as ci_method,
        power(sum_of_weights, 2) / sum_of_squared_weights as wilson_n,
        sqrt(n / (n - 1e0) * spread) / sum_of_weights * {{ t_quantile('(n - 1)') }} as half_width,
        cast(null as double) as low,
        cast(null as double) as high

    from weighted
    where n > 1

),

-- median: the pair of ranks that a fair coin leaves outside at most 2.5 % of the time
coin as (

    select
        task_id,
        dimension_id,
        score,
        score_rank,
        n_cases,
        sum(exp(
            {{ ln_factorial('n_cases') }} - {{ ln_factorial('score_rank - 1') }}
            - {{ ln_factorial('n_cases - score_rank + 1') }} - n_cases * ln(2e0)
        )) over (partition by task_id, dimension_id order by score_rank) as p_below

    from ranked

),

median_ranks as (

    select
        *,
        count(case when p_below <= 0.025 then 1 end) over (
            partition by task_id, dimension_id
        ) as low_rank

    from coin

),

median_intervals as (

    select
        task_id,
        dimension_id,
        max(n_cases) as n_used,
        'order_statistics' as ci_method,
        cast(null as double) as wilson_n,
        cast(null as double) as half_width,
        max(score) filter (where score_rank = low_rank) as low,
        max(score) filter (where score_rank = n_cases + 1 - low_rank) as high

    from median_ranks
    group by task_id, dimension_id

),

-- trimmed and winsorized mean: Tukey and McLaughlin, on the scores pulled in
winsorized as (

    select
        ranked.task_id,
        ranked.dimension_id,
        count(*) as n,
        count(*) - 2 * max(centres.n_cut) as n_kept,
        max(centres.trim_share) as trim_share,
        stddev_samp(greatest(least(ranked.score, centres.winsor_high), centres.winsor_low)) as sd

    from centres
    inner join ranked
        on
            centres.task_id = ranked.task_id
            and centres.dimension_id = ranked.dimension_id
    where centres.aggregation in ('trimmed_mean', 'winsorized_mean')
    group by ranked.task_id, ranked.dimension_id

),

robust_intervals as (

    select
        task_id,
        dimension_id,
        n as n_used,
        'tukey_mclaughlin' as ci_method,
        cast(null as double) as wilson_n,
        sd / ((1 - 2 * trim_share) * sqrt(cast(n as double))) * {{ t_quantile('(n_kept - 1)') }}
            as half_width,
        cast(null as double) as low,
        cast(null as double) as high

    from winsorized
    where n_kept > 1

),

spans as (

    select * from mean_intervals

    union all

    select median_intervals.*
    from median_intervals
    inner join centres using (task_id, dimension_id)
    where centres.aggregation = 'median' and median_intervals.low is not null

    union all

    select * from robust_intervals

),

bounded as (

    select
        centres.task_id,
        centres.dimension_id,
        centres.score,
        centres.aggregation,
        spans.ci_method,
        case spans.ci_method
            when 'wilson' then {{ wilson_bound('centres.centre', 'spans.wilson_n', -1) }}
            when 'order_statistics' then spans.low
            else centres.centre - spans.half_width
        end as lower_bound,
        case spans.ci_method
            when 'wilson' then {{ wilson_bound('centres.centre', 'spans.wilson_n', 1) }}
            when 'order_statistics' then spans.high
            else centres.centre + spans.half_width
        end as upper_bound,
        {{ rounded('greatest(0.0, lower_bound)') }} as ci_low,
        {{ rounded('least(1.0, upper_bound)') }} as ci_high

    from centres
    left join spans using (task_id, dimension_id)

),

intervals as (

    select
        task_id,
        dimension_id,
        case when ci_method is not null and ci_low < ci_high then ci_low end as ci_low,
        case when ci_method is not null and ci_low < ci_high then ci_high end as ci_high,
        case when ci_low < ci_high then ci_method end as ci_method,
        case
            when score is null then 'unscored'
            when aggregation in ('min', 'p10') then 'no_interval_for_aggregation'
            when ci_method is null then 'too_few_cases'
            when ci_low >= ci_high then 'no_spread'
        end as ci_reason

    from bounded

)

select * from intervals
