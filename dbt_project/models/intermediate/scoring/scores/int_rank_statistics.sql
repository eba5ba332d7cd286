{{ config(materialized=view_of_step()) }}

-- One row per task and dimension whose case scores are aggregated by rank: median, trimmed and
-- winsorized mean, with what their intervals are computed from.
with

case_scores as (select * from {{ ref('promptlab', 'int_case_scores') }} where {{ in_this_build() }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),

-- `n_cut` scores are trimmed, or pulled in, on each side
ranked as (

    select
        case_scores.task_id,
        case_scores.dimension_id,
        case_scores.score,
        row_number() over (
            partition by case_scores.task_id, case_scores.dimension_id
            order by case_scores.score, case_scores.case_id
        ) as score_rank,
        count(*) over (partition by case_scores.task_id, case_scores.dimension_id) as n_cases,
        {{ n_trimmed('n_cases', 'dimensions.trim_share') }} as n_cut

    from case_scores
    inner join dimensions using (task_id, dimension_id)
    where
        case_scores.score is not null
        and dimensions.aggregation in ('median', 'trimmed_mean', 'winsorized_mean')

),

-- the interval of a median: the pair of ranks that a fair coin leaves outside at most 2.5 %
-- of the time
coin as (

    select
        *,
        sum(exp(
            lgamma(n_cases + 1) - lgamma((score_rank - 1) + 1)
            - lgamma((n_cases - score_rank + 1) + 1) - n_cases * ln(2e0)
        )) over (partition by task_id, dimension_id order by score_rank) as p_below

    from ranked

),

placed as (

    select
        *,
        count(*) filter (where p_below <= 0.025) over (
            partition by task_id, dimension_id
        ) as low_rank

    from coin

),

by_rank as (

    select
        task_id,
        dimension_id,
        max(n_cut) as n_cut,
        median(score) as median,
        max(score) filter (where score_rank = low_rank) as median_low,
        max(score) filter (where score_rank = n_cases + 1 - low_rank) as median_high,
        {{ exact_mean(
            'case when score_rank > n_cut and score_rank <= n_cases - n_cut then score end'
        ) }} as trimmed_mean,
        max(score) filter (where score_rank = n_cut + 1) as winsor_low,
        max(score) filter (where score_rank = n_cases - n_cut) as winsor_high

    from placed
    group by task_id, dimension_id

),

pulled_in as (

    select
        ranked.task_id,
        ranked.dimension_id,
        greatest(least(ranked.score, by_rank.winsor_high), by_rank.winsor_low) as score

    from ranked
    inner join by_rank using (task_id, dimension_id)

),

winsorized as (

    select
        task_id,
        dimension_id,
        {{ exact_mean('score') }} as winsorized_mean,
        stddev_samp(score) as winsorized_sd

    from pulled_in
    group by task_id, dimension_id

),

statistics as (

    select
        by_rank.*,
        winsorized.winsorized_mean,
        winsorized.winsorized_sd

    from by_rank
    inner join winsorized using (task_id, dimension_id)

)

select * from statistics
