{{ config(materialized=view_of_step()) }}

-- One row per task, dimension and alert (`code`) about a limit that the dimension misses.
with

dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
scores as (select * from {{ ref('promptlab', 'int_dimension_scores') }}),
metrics as (select * from {{ ref('promptlab', 'int_dimension_metrics') }}),
case_scores as (select * from {{ ref('promptlab', 'int_case_scores') }} where {{ in_this_build() }}),

measured as (

    select
        dimensions.*,
        scores.score,
        scores.mean_variance,
        scores.n_scored_cases,
        scores.n_cases_with_variance,
        metrics.mean,
        metrics.n_scored_rounds,
        metrics.n_below_limit,
        metrics.n_above_limit

    from dimensions
    inner join scores using (task_id, dimension_id)
    inner join metrics using (task_id, dimension_id)

),

-- a null n becomes the number of cases below
missed as (

    select
        task_id,
        dimension_id,
        'below_min_score' as code,
        score as value,
        min_score as limit_value,
        'share' as unit,
        cast(null as bigint) as n,
        n_scored_cases as n_total
    from measured
    where score < min_score

    union all

    select
        task_id,
        dimension_id,
        'above_max_score' as code,
        score as value,
        max_score as limit_value,
        'share' as unit,
        null as n,
        n_scored_cases as n_total
    from measured
    where score > max_score

    union all

    select
        task_id,
        dimension_id,
        'max_variance_exceeded' as code,
        mean_variance as value,
        max_variance as limit_value,
        'variance' as unit,
        null as n,
        n_cases_with_variance as n_total
    from measured
    where mean_variance > max_variance

    union all

    select
        task_id,
        dimension_id,
        'below_min_target' as code,
        mean as value,
        lower_limit as limit_value,
        unit,
        n_below_limit as n,
        n_scored_rounds as n_total
    from measured
    where mean < lower_limit

    union all

    select
        task_id,
        dimension_id,
        'above_max_target' as code,
        mean as value,
        upper_limit as limit_value,
        unit,
        n_above_limit as n,
        n_scored_rounds as n_total
    from measured
    where mean > upper_limit

),

-- how far each case is beyond the limit; 0 or less where it keeps to it
distances as (

    select
        missed.*,
        case_scores.case_id,
        case missed.code
            when 'below_min_score' then missed.limit_value - case_scores.score
            when 'above_max_score' then case_scores.score - missed.limit_value
            when 'max_variance_exceeded' then case_scores.variance - missed.limit_value
            when 'below_min_target' then missed.limit_value - case_scores.lowest_metric
            when 'above_max_target' then case_scores.highest_metric - missed.limit_value
        end as distance

    from missed
    left join case_scores using (task_id, dimension_id)

),

alerts as (

    select
        task_id,
        dimension_id,
        code,
        max(value) as value,
        max(limit_value) as limit_value,
        max(unit) as unit,
        coalesce(max(n), count(*) filter (where distance > 0)) as n,
        max(n_total) as n_total,
        cast(null as string) as reason,
        cast(null as string) as detail,
        count(*) filter (where distance > 0) as n_cases,
        {{ json_list_of('case_id', '-distance, case_id', 'distance > 0') }} as case_ids

    from distances
    group by task_id, dimension_id, code

)

select * from alerts
