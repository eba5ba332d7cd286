{{ config(materialized='table') }}

-- One row per series (int_odds_series), case and hypothesis "broken since the last `n_broken_runs` runs": passes `x_`
-- and rounds `n_` now, since then and before. int_odds_evidence tests it; int_odds_effects uses how earlier runs vary.
with

series as (select * from {{ ref('promptlab', 'int_odds_series') }} where n_earlier > 0),
cells as (select * from {{ ref('promptlab', 'int_odds_cells') }} where not is_unsolved),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

-- runs before the longest window count together
folded as (

    select
        cells.series_id,
        cells.case_id,
        least(cells.runs_ago, policy.max_windows + 1) as runs_ago,
        sum(cells.x) as x,
        sum(cells.n) as n,
        sum(cells.x * cells.x) as xx,
        sum(cells.x * cells.n) as xn,
        sum(cells.n * cells.n) as nn,
        count(*) as n_runs,
        max(cells.n) as max_rounds_of_a_run

    from cells
    cross join policy
    group by cells.series_id, cells.case_id, least(cells.runs_ago, policy.max_windows + 1)

),

cases as (

    select distinct
        series_id,
        case_id

    from folded

),

runs_of_cases as (

    select
        cases.series_id,
        cases.case_id,
        series.n_earlier,
        unnest(range(0, least(policy.max_windows + 1, series.n_earlier) + 1))
            as runs_ago

    from cases
    inner join series using (series_id)
    cross join policy

),

summed as (

    select
        runs_of_cases.series_id,
        runs_of_cases.case_id,
        runs_of_cases.runs_ago,
        runs_of_cases.n_earlier,
        sum(coalesce(folded.x, 0)) over this_run_and_earlier as x_before,
        sum(coalesce(folded.n, 0)) over this_run_and_earlier as n_before,
        sum(coalesce(folded.xx, 0)) over this_run_and_earlier as xx,
        sum(coalesce(folded.xn, 0)) over this_run_and_earlier as xn,
        sum(coalesce(folded.nn, 0)) over this_run_and_earlier as nn,
        sum(coalesce(folded.n_runs, 0)) over this_run_and_earlier as n_runs,
        max(coalesce(folded.max_rounds_of_a_run, 0)) over this_run_and_earlier as max_rounds_of_a_run,
        sum(coalesce(folded.x, 0)) over of_case as x_all,
        sum(coalesce(folded.n, 0)) over of_case as n_all,
        sum(case when runs_of_cases.runs_ago = 0 then coalesce(folded.x, 0) end) over of_case as x_now,
        sum(case when runs_of_cases.runs_ago = 0 then coalesce(folded.n, 0) end) over of_case as n_now

    from runs_of_cases
    left join folded using (series_id, case_id, runs_ago)
    window
        of_case as (partition by runs_of_cases.series_id, runs_of_cases.case_id),
        this_run_and_earlier as (
            partition by runs_of_cases.series_id, runs_of_cases.case_id
            order by runs_of_cases.runs_ago desc rows between unbounded preceding and current row
        )

),

rated as (

    select
        *,
        coalesce(x_before / nullif(n_before, 0), 0) as rate

    from summed
    cross join policy
    where runs_ago between 1 and policy.max_windows

),

windows as (

    select

        ---------- ids
        series_id,
        case_id,

        ---------- numerics
        runs_ago as n_broken_runs,
        n_earlier + 1 - runs_ago as n_runs_before,
        x_now,
        n_now,
        x_before,
        n_before,
        x_all - x_before as x_since,
        n_all - n_before as n_since,
        max_rounds_of_a_run,
        -- squared differences between the passes of each run and those at the mean rate: as they
        -- are, and as they would be if rounds were independent
        xx - 2 * rate * xn + rate * rate * nn as squares_seen,
        case
            when n_runs > 1 and n_before > 1
                then
                    rate * (1 - rate) * n_before / (n_before - 1)
                    * n_before * (n_runs - 1) / n_runs
            else 0
        end as squares_if_independent

    from rated

)

select * from windows
