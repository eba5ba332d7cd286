{{ config(materialized='table', meta={'mentions': ['since_task_id']}) }}

-- One row per title, variant and measure: since which run it is at its present level, and whether that
-- change is more than chance.
with

trends as (select * from {{ ref('promptlab', 'fct_trends') }} where subject is null),
measures as (select * from {{ ref('promptlab', 'promptlab_level_measures') }}),

leveled as (

    select
        trends.task_id,
        trends.title,
        trends.variant,
        trends.measure,
        trends.task_number,
        trends.value,
        trends.n,
        trends.created_at,
        measures.is_ratio,
        measures.is_lower_better,
        measures.prior_sd,
        measures.least_change,
        case when measures.is_ratio then ln(trends.value) else trends.value end as level,
        row_number() over (
            partition by trends.title, trends.variant, trends.measure
            order by trends.task_number desc
        ) as recency

    from trends
    inner join measures using (measure)
    where trends.value > 0 or not measures.is_ratio

),

-- each of the last 40 runs as the first of the present level: what was before it, and what is since
split as (

    select
        *,
        count(*) over earlier as n_before,
        count(*) over since as n_since,
        avg(level) over earlier as level_before,
        avg(level) over since as level_now,
        coalesce(var_samp(level) over earlier * (count(*) over earlier - 1), 0)
        + coalesce(var_samp(level) over since * (count(*) over since - 1), 0) as squares,
        last_value(level) over since as newest_level,
        avg(level) over whole as mean_level,
        avg(n) over whole as mean_n

    from leveled
    where recency <= 40
    window
        whole as (
            partition by title, variant, measure
        ),
        earlier as (
            partition by title, variant, measure
            order by task_number
            rows between unbounded preceding and 1 preceding
        ),
        since as (
            partition by title, variant, measure
            order by task_number
            rows between current row and unbounded following
        )

),

-- a variance of a few runs is moderated: it counts as if four more runs had the usual one
tested as (

    select
        *,
        level_now - level_before as change,
        n_before + n_since + 2 as df,
        (level_now - level_before) / sqrt(
            (
                squares
                + 4 * case
                    when prior_sd > 0 then prior_sd * prior_sd
                    else greatest(mean_level * (1 - mean_level) / greatest(mean_n, 1), 1e-6)
                end
            ) / (n_before + n_since + 2) * (1e0 / n_before + 1e0 / n_since)
        ) as t

    from split
    where n_before > 0 and n_before + n_since > 2

),

-- p counts for all the runs that were tried
ranked as (

    select *
    from tested
    qualify row_number() over (
        partition by title, variant, measure
        order by abs(round(t, 9)) desc, task_number desc
    ) = 1

),

final as (

    select

        ---------- ids
        task_id as since_task_id,

        ---------- strings
        title,
        variant,
        measure,

        ---------- numerics
        round(case when is_ratio then exp(level_before) else level_before end, 6) as value_before,
        round(case when is_ratio then exp(level_now) else level_now end, 6) as value_now,
        round(case when is_ratio then exp(abs(change)) end, 6) as factor,
        round(least(1e0, ({{ t_p_value('t', 'df') }}) * (n_before + n_since - 1)), 9) as p_value,
        n_before,
        n_since,

        ---------- booleans
        change <> 0 and (change > 0) = is_lower_better as is_worse,
        least(1e0, ({{ t_p_value('t', 'df') }}) * (n_before + n_since - 1)) < 0.01
        and abs(change) >= least_change
        and (newest_level - level_before) * sign(change) >= least_change
        and n_before >= 2
        and n_since <= 20 as is_beyond_chance,

        ---------- timestamps
        created_at as since_at

    from ranked

)

select * from final
