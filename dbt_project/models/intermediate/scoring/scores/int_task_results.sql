-- One row per task: its overall score, and its cases by status.
with

tasks as (select * from {{ ref('promptlab', 'int_tasks_resolved') }} where {{ in_this_build() }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimension_scores') }}),
intervals as (select * from {{ ref('promptlab', 'int_dimension_intervals') }}),
spread as (select * from {{ ref('promptlab', 'int_overall_errors') }}),
case_results as (select * from {{ ref('promptlab', 'int_case_results') }} where {{ in_this_build() }}),

overall as (

    select
        task_id,
        round({{ exact_sum('case when weight_used > 0 then weight_used * exact_score end') }}, 6)
            as overall_score,
        coalesce(max(task_weight_scored) < max(task_weight_configured) / 2, false)
            as is_mostly_unscored,
        bool_or(weight_used > 0 and (is_confidence_weighted or aggregation <> 'mean'))
            as has_no_interval

    from dimensions
    group by task_id

),

half_widths as (

    select
        task_id,
        n_scored_cases,
        {{ t_quantile('(n_clusters - 1)') }} * standard_error as half_width

    from spread

),

-- a score of one dimension has the interval of that dimension
of_one_dimension as (

    select
        dimensions.task_id,
        max(intervals.ci_low) as ci_low,
        max(intervals.ci_high) as ci_high

    from dimensions
    inner join intervals using (task_id, dimension_id)
    where dimensions.weight_used > 0
    group by dimensions.task_id
    having count(*) = 1 and max(intervals.ci_method) = 'wilson'

),

counted as (

    select
        task_id,
        count(*) as n_cases,
        count(*) filter (where status = 'pass') as n_pass,
        count(*) filter (where status = 'fail') as n_fail,
        count(*) filter (where status = 'fail' and answered_status = 'pass') as n_fail_by_errors,
        count(*) filter (where status = 'error') as n_error,
        count(*) filter (where status = 'unevaluated') as n_unevaluated,
        cast(sum(n_rounds) as bigint) as n_rounds,
        cast(sum(n_rounds_scored) as bigint) as n_scored_rounds

    from case_results
    group by task_id

),

joined as (

    select
        tasks.task_id,
        overall.overall_score,
        coalesce(overall.is_mostly_unscored, false) as is_mostly_unscored,
        of_one_dimension.ci_low as wilson_low,
        of_one_dimension.ci_high as wilson_high,
        case
            when not overall.has_no_interval
                then round(greatest(0.0, overall.overall_score - half_widths.half_width), 6)
        end as low,
        case
            when not overall.has_no_interval
                then round(least(1.0, overall.overall_score + half_widths.half_width), 6)
        end as high,
        half_widths.half_width,
        half_widths.n_scored_cases,
        counted.n_cases,
        counted.n_pass,
        counted.n_fail,
        counted.n_fail_by_errors,
        counted.n_error,
        counted.n_unevaluated,
        counted.n_rounds,
        counted.n_scored_rounds

    from tasks
    left join overall using (task_id)
    left join half_widths using (task_id)
    left join of_one_dimension using (task_id)
    left join counted using (task_id)

),

results as (

    select

        ---------- ids
        task_id,

        ---------- numerics
        overall_score,
        case
            when wilson_low is not null then wilson_low
            when half_width is not null and low < high then low
        end as ci_low,
        case
            when wilson_low is not null then wilson_high
            when half_width is not null and low < high then high
        end as ci_high,
        round(cast(n_scored_rounds as double) / nullif(n_rounds, 0), 6) as coverage,
        round(cast(n_pass as double) / nullif(n_pass + n_fail + n_error, 0), 6)
            as pass_rate,
        coalesce(n_cases, 0) as n_cases,
        coalesce(n_scored_cases, 0) as n_scored_cases,
        coalesce(n_pass, 0) as n_pass,
        coalesce(n_fail, 0) as n_fail,
        coalesce(n_fail_by_errors, 0) as n_fail_by_errors,
        coalesce(n_error, 0) as n_error,
        coalesce(n_unevaluated, 0) as n_unevaluated,
        coalesce(n_rounds, 0) as n_rounds,
        coalesce(n_scored_rounds, 0) as n_scored_rounds,

        ---------- booleans
        is_mostly_unscored

    from joined

)

select * from results
