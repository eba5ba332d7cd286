{{ config(materialized='table') }}

-- One row per series (int_odds_series), case and run of it: `x` passes in `n` rounds with a verdict,
-- and whether the case was not solved yet; a series of all variants has their sums.
with

series as (select * from {{ ref('promptlab', 'int_odds_series') }}),
of_variants as (select * from {{ ref('promptlab', 'int_odds_counts') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

-- only of runs that asked every variant, so that a new variant accuses no case
together as (

    select
        together.series_id,
        of_variants.case_id,
        of_variants.runs_ago,
        sum(of_variants.x) as x,
        sum(of_variants.n) as n

    from series as together
    inner join series
        on
            together.title = series.title
            and together.run_id = series.run_id
            and together.history = series.history
            and series.task_id is not null
    inner join of_variants on series.series_id = of_variants.series_id
    where together.task_id is null
    group by together.series_id, together.n_variants, of_variants.case_id, of_variants.runs_ago
    having count(*) = together.n_variants

),

cells as (

    select * from of_variants

    union all

    select * from together

),

-- a case that failed for some runs before it first passed was not solved yet
solved as (

    select
        *,
        max(case when x > 0 and runs_ago > 0 then runs_ago end) over (
            partition by series_id, case_id
        ) as first_pass

    from cells

),

final as (

    select

        ---------- ids
        solved.series_id,
        solved.case_id,

        ---------- numerics
        solved.runs_ago,
        solved.x,
        solved.n,

        ---------- booleans
        coalesce(
            solved.runs_ago > solved.first_pass
            and series.n_earlier - solved.first_pass >= policy.lead_runs,
            false
        ) as is_unsolved

    from solved
    inner join series using (series_id)
    cross join policy

)

select * from final
