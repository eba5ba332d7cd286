{{ config(materialized='table') }}

-- One row per task, measure (verdict or score), case and run of its history: the case's pass rate or
-- score there less the mean of its earlier runs.
with

series as (
    select * from {{ ref('promptlab', 'int_odds_series') }}
    where task_id is not null and history = 'base' and n_earlier > 0
),
cells as (select * from {{ ref('promptlab', 'int_odds_cells') }}),
scores as (select * from {{ ref('promptlab', 'int_score_cells') }}),
clusters as (select * from {{ ref('promptlab', 'stg_tasks__cases') }}),

rates as (

    select
        series_id,
        case_id,
        runs_ago,
        'verdict' as measure,
        x / n as rate

    from cells

    union all

    select
        series_id,
        case_id,
        runs_ago,
        'score' as measure,
        score as rate

    from scores

),

compared as (

    select
        series.series_id,
        series.task_id,
        series.n_earlier,
        rates.measure,
        rates.case_id,
        rates.runs_ago,
        rates.rate,
        avg(case when rates.runs_ago > 0 then rates.rate end) over (
            partition by series.series_id, rates.measure, rates.case_id
        ) as rate_before

    from series
    inner join rates using (series_id)

),

changes as (

    select
        compared.*,
        compared.rate - compared.rate_before as change,
        coalesce(clusters.cluster_id, compared.case_id) as cluster_id

    from compared
    left join clusters using (task_id, case_id)
    where compared.rate_before is not null

)

select * from changes
