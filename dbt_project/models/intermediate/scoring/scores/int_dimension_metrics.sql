-- One row per task and dimension: statistics of what its scorer measured in the rounds, before it is made a score.
with

dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
round_scores as (select * from {{ ref('promptlab', 'int_round_scores') }}),

-- rounds are sorted by a number, which is cheaper than by two names
numbered as (

    select
        *,
        row_number() over (order by task_id, dimension_id) as dimension_no

    from dimensions

),

scored_rounds as (

    select
        numbered.dimension_no,
        round_scores.exact_metric as metric,
        round_scores.reason = 'error_round' as is_error,
        numbered.is_share,
        numbered.lower_limit,
        numbered.upper_limit,
        row_number() over (
            partition by numbered.dimension_no order by round_scores.exact_metric
        ) as metric_rank,
        count(*) over (partition by numbered.dimension_no) as n_rounds,
        {{ n_trimmed('n_rounds', 'numbered.trim_share') }} as n_cut

    from round_scores
    inner join numbered using (task_id, dimension_id)
    where round_scores.score is not null

),

measured as (

    select
        dimension_no,
        -- shares add up exactly; see exact_sum
        case
            when bool_and(is_share) then {{ exact_mean('case when is_share then metric end') }}
            else avg(metric)
        end as mean,
        stddev_samp(metric) as sd,
        median(metric) as median,
        min(metric) as lowest,
        max(metric) as highest,
        percentile_cont(0.05) within group (order by metric) as p05,
        percentile_cont(0.25) within group (order by metric) as p25,
        percentile_cont(0.75) within group (order by metric) as p75,
        percentile_cont(0.95) within group (order by metric) as p95,
        sum(metric order by metric) filter (
            where metric_rank > n_cut and metric_rank <= n_rounds - n_cut
        ) / nullif(max(n_rounds - 2 * n_cut), 0) as trimmed_mean,
        count(*) filter (where metric = 1) as n_ones,
        count(*) filter (where coalesce(metric < lower_limit, false)) as n_below_limit,
        count(*) filter (where coalesce(metric > upper_limit, false)) as n_above_limit,
        count(*) filter (where is_error) as n_error_rounds,
        count(*) as n_scored_rounds

    from scored_rounds
    group by dimension_no

),

deviations as (

    select
        scored_rounds.dimension_no,
        median(abs(scored_rounds.metric - measured.median)) as mad

    from scored_rounds
    inner join measured using (dimension_no)
    group by scored_rounds.dimension_no

),

-- why rounds have no score: the commonest reason
unscored_rounds as (

    select
        task_id,
        dimension_id,
        reason

    from round_scores
    where score is null
    group by task_id, dimension_id, reason
    qualify row_number() over (
        partition by task_id, dimension_id order by -count(*), reason
    ) = 1

),

metrics as (

    select

        ---------- ids
        numbered.task_id,
        numbered.dimension_id,

        ---------- strings
        unscored_rounds.reason as main_reason,

        ---------- numerics
        coalesce(measured.n_scored_rounds, 0) as n_scored_rounds,
        round(measured.mean, 6) as mean,
        round(measured.sd, 6) as sd,
        round(measured.median, 6) as median,
        round(deviations.mad, 6) as mad,
        round(measured.lowest, 6) as lowest,
        round(measured.highest, 6) as highest,
        round(measured.p05, 6) as p05,
        round(measured.p25, 6) as p25,
        round(measured.p75, 6) as p75,
        round(measured.p95, 6) as p95,
        round(measured.trimmed_mean, 6) as trimmed_mean,
        coalesce(measured.n_below_limit, 0) as n_below_limit,
        coalesce(measured.n_above_limit, 0) as n_above_limit,
        coalesce(measured.n_error_rounds, 0) as n_error_rounds,
        case
            when numbered.is_share and numbered.scorer <> 'error_rate'
                then round(cast(measured.n_ones as double) / measured.n_scored_rounds, 6)
        end as correct_ratio,
        case
            when not numbered.is_share
                then round(
                    1.0 - cast(measured.n_below_limit + measured.n_above_limit as double) / measured.n_scored_rounds,
                    6
                )
        end as within_target_ratio

    from numbered
    left join measured using (dimension_no)
    left join deviations using (dimension_no)
    left join unscored_rounds
        on
            numbered.task_id = unscored_rounds.task_id
            and numbered.dimension_id = unscored_rounds.dimension_id

)

select * from metrics
