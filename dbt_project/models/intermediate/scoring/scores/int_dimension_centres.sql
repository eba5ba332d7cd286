-- One row per task and dimension: the case scores aggregated to one score. `centre` is
-- the score before rounding.
with

dimensions as (select * from {{ ref('int_dimensions_resolved') }}),
case_scores as (select * from {{ ref('int_case_scores') }} where {{ in_this_build() }}),
ranked as (select * from {{ ref('int_ranked_case_scores') }}),

counted as (

    select
        task_id,
        dimension_id,
        count(*) filter (where score is not null) as n_cases,
        cast(sum(n_scored_rounds) as bigint) as n_rounds,
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

by_rank as (

    select
        task_id,
        dimension_id,
        median(score) as median,
        {{ exact_mean(
            'case when score_rank > n_cut and score_rank <= n_cases - n_cut then score end'
        ) }} as trimmed_mean,
        max(score) filter (where score_rank = n_cut + 1) as winsor_low,
        max(score) filter (where score_rank = n_cases - n_cut) as winsor_high,
        max(n_cut) as n_cut

    from ranked
    group by task_id, dimension_id

),

winsorized as (

    select
        ranked.task_id,
        ranked.dimension_id,
        {{ exact_mean('greatest(least(ranked.score, by_rank.winsor_high), by_rank.winsor_low)') }}
            as winsorized_mean

    from ranked
    inner join by_rank using (task_id, dimension_id)
    group by ranked.task_id, ranked.dimension_id

),

aggregated as (

    select

        ---------- ids
        dimensions.task_id,
        dimensions.dimension_id,

        ---------- strings
        dimensions.aggregation,
        dimensions.reducer,

        ---------- numerics
        case dimensions.aggregation
            when 'mean' then counted.weighted_mean
            when 'median' then by_rank.median
            when 'trimmed_mean' then by_rank.trimmed_mean
            when 'winsorized_mean' then winsorized.winsorized_mean
            when 'min' then counted.lowest
            when 'p10' then counted.p10
        end as centre,
        {{ rounded('centre') }} as score,
        coalesce(counted.n_cases, 0) as n_cases,
        coalesce(counted.n_rounds, 0) as n_rounds,
        by_rank.winsor_low,
        by_rank.winsor_high,
        by_rank.n_cut,
        dimensions.trim_share,
        {{ rounded('counted.mean_variance') }} as mean_variance,
        coalesce(counted.n_cases_with_variance, 0) as n_cases_with_variance,

        ---------- booleans
        coalesce(counted.has_unequal_confidences, false) as has_unequal_confidences,
        dimensions.aggregation = 'mean'
        and coalesce(counted.has_unequal_confidences, false) as is_confidence_weighted

    from dimensions
    left join counted using (task_id, dimension_id)
    left join by_rank using (task_id, dimension_id)
    left join winsorized using (task_id, dimension_id)

)

select * from aggregated
