{{ config(materialized='table') }}

-- One row per task and measure (verdict or score): the chance `p` of so low a mean over all cases if nothing broke.
-- Tested over cases and over runs, against earlier runs of the base branch; the larger p counts.
with

changes as (select * from {{ ref('promptlab', 'int_rate_changes') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

changes_now as (select * from changes where runs_ago = 0),

cluster_counts as (

    select
        series_id,
        measure,
        count(distinct cluster_id) as n_clusters

    from changes_now
    group by series_id, measure

),

overall as (

    select
        series_id,
        task_id,
        measure,
        n_earlier,
        avg(change) as change,
        avg(rate) as rate_now,
        avg(rate_before) as rate_before,
        count(*) as n_cases

    from changes_now
    group by series_id, task_id, measure, n_earlier

),

-- few clusters are not enough for a test: then cases are taken to be independent
independent_units as (

    select
        changes_now.series_id,
        changes_now.measure,
        avg(changes_now.change) as change

    from changes_now
    inner join cluster_counts using (series_id, measure)
    cross join policy
    group by
        changes_now.series_id,
        changes_now.measure,
        case
            when cluster_counts.n_clusters >= policy.min_clusters then changes_now.cluster_id
            else changes_now.case_id
        end

),

-- 1e-9: where all cases changed alike the spread is 0, and t is huge instead of undefined. Means are rounded, since
-- beside 1e-9 the last digits of a sum, which depend on the order of its rows, would count.
test_over_cases as (

    select
        series_id,
        measure,
        count(*) as n_units,
        count(*) - 1 as df_units,
        round(avg(change), 12) / (stddev_samp(change) / sqrt(count(*)) + 1e-9) as t_units

    from independent_units
    group by series_id, measure

),

earlier_runs as (

    select
        series_id,
        measure,
        runs_ago,
        avg(change) as change

    from changes
    where runs_ago > 0
    group by series_id, measure, runs_ago

),

-- whether the change of now is more than those from run to run before
test_over_runs as (

    select
        overall.series_id,
        overall.measure,
        max(overall.n_earlier) - 1 as df_runs,
        round(max(overall.change) - avg(earlier_runs.change), 12) / (
            stddev_samp(earlier_runs.change) * sqrt(1 + 1e0 / max(overall.n_earlier)) + 1e-9
        ) as t_runs

    from overall
    inner join earlier_runs using (series_id, measure)
    cross join policy
    where overall.n_earlier >= policy.min_runs_broad
    group by overall.series_id, overall.measure

),

chances as (

    select
        overall.*,
        case when test_over_cases.n_units > 1 then {{ t_lower_tail('t_units', 'df_units') }} end as p_units,
        case when test_over_runs.t_runs is not null then {{ t_lower_tail('t_runs', 'df_runs') }} end as p_runs

    from overall
    inner join test_over_cases using (series_id, measure)
    left join test_over_runs using (series_id, measure)

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
