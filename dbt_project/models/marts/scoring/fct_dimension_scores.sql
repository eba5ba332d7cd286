-- One row per task and dimension: its score over all cases with its interval, and statistics of what was measured.
with

dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
scores as (select * from {{ ref('promptlab', 'int_dimension_scores') }}),
intervals as (select * from {{ ref('promptlab', 'int_dimension_intervals') }}),
metrics as (select * from {{ ref('promptlab', 'int_dimension_metrics') }}),
totals as (select * from {{ ref('promptlab', 'int_task_results') }}),
chosen as (select * from {{ ref('promptlab', 'int_scores_chosen') }}),
case_scores as (select * from {{ ref('promptlab', 'int_case_scores') }} where {{ in_this_build() }}),
-- of a metric of a tool its file says whether a model judged it
models as (
    select distinct
        task_id,
        judged_name as dimension_id
    from {{ ref('promptlab', 'stg_reported__judges') }}
    where {{ in_this_build() }} and judge_model is not null
),

scorers_used as (

    select
        task_id,
        dimension_id,
        concat_ws(' ', scorer, scorer_version) as version

    from dimensions
    where scorer_version is not null

    union

    select
        task_id,
        dimension_id,
        concat_ws(' ', scored_by, scored_by_version) as version

    from chosen

),

versions as (

    select
        task_id,
        dimension_id,
        {{ json_list_of('version', 'version') }} as scorer_versions

    from scorers_used
    group by task_id, dimension_id

),

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
        {{ json_map_of('case_id', 'round(score, 6)', 'case_rank') }} as lowest_cases

    from worst_cases
    where case_rank <= 3
    group by task_id, dimension_id

),

joined as (

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
        versions.scorer_versions,
        worst.n_below_full,
        worst.lowest_cases,
        models.task_id is not null as is_by_model

    from dimensions
    inner join scores using (task_id, dimension_id)
    inner join intervals using (task_id, dimension_id)
    inner join metrics using (task_id, dimension_id)
    inner join totals using (task_id)
    left join versions using (task_id, dimension_id)
    left join worst using (task_id, dimension_id)
    left join models
        on dimensions.task_id = models.task_id and dimensions.dimension_id = models.dimension_id

),

final as (

    select

        ---------- ids
        task_id,
        dimension_id,

        ---------- strings
        name,
        scorer,
        scoring_mode,
        ci_method,
        ci_reason,

        ---------- numerics
        dimension_position,
        score,
        weight_configured,
        weight_used,
        ci_low,
        ci_high,
        n_cases,
        n_rounds,

        ---------- booleans
        is_judged
        and (scorer not in ('accuracy', 'memory', 'reported') or is_by_model) as is_judged,

        ---------- json
        json_object(
            'n_cases', n_task_cases,
            'n_rounds', n_task_rounds,
            'n_scored_cases', n_cases,
            'n_scored_rounds', n_rounds,
            'mean', mean,
            'sd', sd,
            'median', median,
            'mad', mad,
            'min', lowest,
            'max', highest,
            'p05', p05,
            'p25', p25,
            'p75', p75,
            'p95', p95,
            'trimmed_mean', trimmed_mean,
            'ci_low', ci_low,
            'ci_high', ci_high,
            'ci_method', ci_method,
            'correct_ratio', correct_ratio,
            'within_target_ratio', within_target_ratio,
            'mean_case_variance', mean_variance,
            'n_error_rounds', n_error_rounds
        ) as raw_metrics,
        json_object(
            'unscored_reason', unscored_reason,
            'unit', unit,
            'min_score', min_score,
            'n_off_target', n_off_target,
            'n_below_full', coalesce(n_below_full, 0),
            'lowest_cases', cast(lowest_cases as json)
        ) as diagnosis,
        target,
        parameters,
        coalesce(scorer_versions, cast('[]' as json)) as scorer_versions

    from joined

)

select * from final
