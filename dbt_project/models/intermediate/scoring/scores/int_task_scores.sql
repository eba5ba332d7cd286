-- One row per task: the overall score, its 95 % interval over cases, and how much of the
-- task was scored.
with

tasks as (select * from {{ ref('int_tasks_resolved') }} where {{ in_this_build() }}),
weights as (select * from {{ ref('int_dimension_weights') }}),
centres as (select * from {{ ref('int_dimension_centres') }}),
case_scores as (
    select * from {{ ref('int_case_scores') }}
    where {{ in_this_build() }} and score is not null
),
rounds as (select * from {{ ref('stg_tasks__rounds') }} where {{ in_this_build() }}),

overall as (

    select
        weights.task_id,
        {{ rounded(exact_sum(
            'case when weights.weight_used > 0 then weights.weight_used * centres.centre end'
        )) }} as overall_score,
        coalesce(max(weights.task_weight_scored) < max(weights.task_weight_configured) / 2, false)
            as is_mostly_unscored,
        bool_or(
            weights.weight_used > 0
            and (centres.is_confidence_weighted or centres.aggregation <> 'mean')
        ) as has_no_interval

    from weights
    inner join centres using (task_id, dimension_id)
    group by weights.task_id

),

-- how far each case pulls the overall score from where it is
pulls as (

    select
        case_scores.task_id,
        case_scores.case_id,
        sum(
            weights.weight_used * (case_scores.score - centres.centre) / centres.n_cases
        ) as pull

    from case_scores
    inner join weights using (task_id, dimension_id)
    inner join centres using (task_id, dimension_id)
    where weights.weight_used > 0
    group by case_scores.task_id, case_scores.case_id

),

spread as (

    select
        task_id,
        count(*) as n_cases,
        -- z of the case is N times its pull
        count(*) * stddev_samp(pull) as sd

    from pulls
    group by task_id

),

half_widths as (

    select
        task_id,
        n_cases,
        {{ t_quantile('(n_cases - 1)') }} * sd / sqrt(cast(n_cases as double)) as half_width

    from spread

),

scored_rounds as (

    select
        task_id,
        count(*) as n_scored_rounds

    from {{ ref('int_scored_rounds') }}
    group by task_id

),

counted_rounds as (

    select
        task_id,
        count(*) as n_rounds

    from rounds
    group by task_id

),

joined as (

    select

        ---------- ids
        tasks.task_id,

        ---------- numerics
        overall.overall_score,
        {{ rounded('greatest(0.0, overall.overall_score - half_widths.half_width)') }} as low,
        {{ rounded('least(1.0, overall.overall_score + half_widths.half_width)') }} as high,
        coalesce(counted_rounds.n_rounds, 0) as n_rounds,
        coalesce(scored_rounds.n_scored_rounds, 0) as n_scored_rounds,
        {{ rounded(
            'cast(coalesce(scored_rounds.n_scored_rounds, 0) as double) / counted_rounds.n_rounds'
        ) }} as coverage,
        half_widths.n_cases as n_scored_cases,

        ---------- booleans
        coalesce(overall.is_mostly_unscored, false) as is_mostly_unscored,
        overall.overall_score is not null
        and not overall.has_no_interval
        and half_widths.half_width is not null
        and low < high as has_interval

    from tasks
    left join overall using (task_id)
    left join half_widths using (task_id)
    left join scored_rounds using (task_id)
    left join counted_rounds using (task_id)

),

scored as (

    select
        task_id,
        overall_score,
        coverage,
        case when has_interval then low end as ci_low,
        case when has_interval then high end as ci_high,
        n_rounds,
        n_scored_rounds,
        coalesce(n_scored_cases, 0) as n_scored_cases,
        is_mostly_unscored

    from joined

)

select * from scored
