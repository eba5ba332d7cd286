{{ config(materialized='table') }}

-- One row per task and measure (verdict or score): the chance of so low a rate over all cases, if nothing broke.
with

changes as (select * from {{ ref('promptlab', 'int_rate_changes') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

now as (select * from changes where runs_ago = 0),

sizes as (

    select
        series_id,
        measure,
        count(distinct cluster_id) as n_clusters

    from now
    group by series_id, measure

),

averaged as (

    select
        series_id,
        task_id,
        measure,
        n_earlier,
        avg(change) as change,
        avg(rate) as rate_now,
        avg(rate_before) as rate_before,
        count(*) as n_cases

    from now
    group by series_id, task_id, measure, n_earlier

),

-- few clusters are not enough for a test: then cases are taken to be independent
grouped as (

    select
        now.series_id,
        now.measure,
        avg(now.change) as change

    from now
    inner join sizes using (series_id, measure)
    cross join policy
    group by
        now.series_id,
        now.measure,
        case when sizes.n_clusters >= policy.min_clusters then now.cluster_id else now.case_id end

),

over_units as (

    select
        series_id,
        measure,
        count(*) as n_units,
        count(*) - 1 as df_units,
        avg(change) / (stddev_samp(change) / sqrt(count(*)) + 1e-9) as t_units

    from grouped
    group by series_id, measure

),

runs as (

    select
        series_id,
        measure,
        runs_ago,
        avg(change) as change

    from changes
    where runs_ago > 0
    group by series_id, measure, runs_ago

),

over_runs as (

    select
        averaged.series_id,
        averaged.measure,
        max(averaged.n_earlier) - 1 as df_runs,
        (max(averaged.change) - avg(runs.change)) / (
            stddev_samp(runs.change) * sqrt(1 + 1e0 / max(averaged.n_earlier)) + 1e-9
        ) as t_runs

    from averaged
    inner join runs using (series_id, measure)
    cross join policy
    where averaged.n_earlier >= policy.min_runs_broad
    group by averaged.series_id, averaged.measure

),

chances as (

    select
        averaged.*,
        case when over_units.n_units > 1 then {{ t_lower_tail('t_units', 'df_units') }} end as p_units,
        case when over_runs.t_runs is not null then {{ t_lower_tail('t_runs', 'df_runs') }} end as p_runs

    from averaged
    inner join over_units using (series_id, measure)
    left join over_runs using (series_id, measure)

),

final as (

    select

        ---------- ids
        task_id,

        ---------- strings
        measure,

        ---------- numerics
        n_cases,
        rate_now,
        rate_before,
        round(case when p_units is not null then greatest(p_units, coalesce(p_runs, 0)) end, 9)
            as p

    from chances

)

select * from final
