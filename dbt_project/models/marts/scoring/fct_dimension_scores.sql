with

dimensions as (select * from {{ ref('int_dimensions_resolved') }}),
scores as (select * from {{ ref('int_dimension_scores') }}),
intervals as (select * from {{ ref('int_dimension_intervals') }}),
metrics as (select * from {{ ref('int_dimension_metrics') }}),
totals as (select * from {{ ref('int_task_results') }}),
case_scores as (select * from {{ ref('int_case_scores') }} where {{ in_this_build() }}),
reasons as (select * from {{ ref('score_reasons') }}),

worst_cases as (

    select
        task_id,
        dimension_id,
        case_id,
        score,
        count(*) over (partition by task_id, dimension_id) as n_below_full,
        row_number() over (partition by task_id, dimension_id order by score, case_id) as case_rank

    from case_scores
    where score < 1

),

worst as (

    select
        task_id,
        dimension_id,
        max(n_below_full) as n_below_full,
        {{ joined(case_with_score('zh'), "'、'", 'case_rank') }} as worst_cases,
        {{ joined(case_with_score('en'), "', '", 'case_rank') }} as worst_cases_en

    from worst_cases
    where case_rank <= 3
    group by task_id, dimension_id

),

judged as (

    select
        dimensions.*,
        scores.score,
        scores.weight_used,
        scores.mean_variance,
        scores.n_scored_cases as n_cases,
        scores.n_scored_rounds as n_rounds,
        scores.n_rounds as n_task_rounds,
        scores.unscored_reason,
        totals.n_cases as n_task_cases,
        intervals.ci_low,
        intervals.ci_high,
        intervals.ci_method,
        intervals.ci_reason,
        metrics.mean,
        metrics.sd,
        metrics.median,
        metrics.mad,
        metrics.lowest,
        metrics.highest,
        metrics.p05,
        metrics.p25,
        metrics.p75,
        metrics.p95,
        metrics.trimmed_mean,
        metrics.correct_ratio,
        metrics.within_target_ratio,
        metrics.n_error_rounds,
        metrics.n_below_limit + metrics.n_above_limit as n_off_target,
        worst.n_below_full,
        worst.worst_cases,
        worst.worst_cases_en

    from dimensions
    inner join scores using (task_id, dimension_id)
    inner join intervals using (task_id, dimension_id)
    inner join metrics using (task_id, dimension_id)
    inner join totals using (task_id)
    left join worst using (task_id, dimension_id)

),

final as (

    select

        ---------- ids
        judged.task_id,
        judged.dimension_id,

        ---------- strings
        judged.name,
        judged.scorer,
        judged.scoring_mode,
        judged.ci_method,
        judged.ci_reason,
        {{ dimension_diagnosis('zh') }} as diagnosis,
        {{ dimension_diagnosis('en') }} as diagnosis_en,

        ---------- numerics
        judged.dimension_position,
        judged.score,
        judged.weight_configured,
        judged.weight_used,
        judged.ci_low,
        judged.ci_high,
        judged.n_cases,
        judged.n_rounds,

        ---------- json
        {{ json_object_of({
            'n_cases': 'judged.n_task_cases',
            'n_rounds': 'judged.n_task_rounds',
            'n_scored_cases': 'judged.n_cases',
            'n_scored_rounds': 'judged.n_rounds',
            'mean': 'judged.mean',
            'sd': 'judged.sd',
            'median': 'judged.median',
            'mad': 'judged.mad',
            'min': 'judged.lowest',
            'max': 'judged.highest',
            'p05': 'judged.p05',
            'p25': 'judged.p25',
            'p75': 'judged.p75',
            'p95': 'judged.p95',
            'trimmed_mean': 'judged.trimmed_mean',
            'ci_low': 'judged.ci_low',
            'ci_high': 'judged.ci_high',
            'ci_method': 'judged.ci_method',
            'correct_ratio': 'judged.correct_ratio',
            'within_target_ratio': 'judged.within_target_ratio',
            'mean_case_variance': 'judged.mean_variance',
            'n_error_rounds': 'judged.n_error_rounds',
        }) }} as raw_metrics,
        judged.target,
        judged.parameters

    from judged
    left join reasons as ci_reasons on judged.ci_reason = ci_reasons.reason
    left join reasons as unscored_reasons on judged.unscored_reason = unscored_reasons.reason

)

select * from final
