{{ config(materialized='table') }}

-- One row per series (int_odds_series): the shares of stable, flaky and failing cases in its earlier
-- runs, by two steps of expectation maximisation, and the failure rate of stable ones.
with

windows as (
    select * from {{ ref('promptlab', 'int_odds_windows') }}
    where n_broken_runs = 1
),
effects as (select * from {{ ref('promptlab', 'int_odds_effects') }} where n_broken_runs = 1),

cases as (

    select
        windows.series_id,
        windows.x_before / effects.effect as x,
        windows.n_before / effects.effect as n

    from windows
    inner join effects using (series_id)
    where windows.n_before > 0

),

-- where to start: what an ordinary suite is like
priors_0 as (

    select
        series_id,
        0.7e0 as stable,
        0.2e0 as flaky,
        0.1e0 as failing,
        0.01e0 as failure_rate

    from effects

),
{% for step in [1, 2] %}
    likelihoods_{{ step }} as (

        select
            cases.*,
            {{ ln_likelihoods_by_kind('cases.x', 'cases.n') }}

        from priors_{{ step - 1 }} as priors
        inner join cases using (series_id)

    ),

    shares_{{ step }} as (

        select
            *,
            {{ ln_sum_of_kinds() }} as ln_all

        from likelihoods_{{ step }}

    ),

    sums_{{ step }} as (

        select
            series_id,
            count(*) as n_cases,
            {{ exact_sum('exp(ln_stable - ln_all)') }} as stable,
            {{ exact_sum('exp(ln_flaky - ln_all)') }} as flaky,
            {{ exact_sum('exp(ln_failing - ln_all)') }} as failing,
            {{ exact_sum('exp(ln_stable - ln_all) * (n - x)') }} as n_failures,
            {{ exact_sum('exp(ln_stable - ln_all) * n') }} as n_rounds

        from shares_{{ step }}
        group by series_id

    ),

    -- the start is worth ten cases, and of the failure rate 100 rounds; a stable case fails once
    -- in 33 rounds at most
    priors_{{ step }} as (

        select
            priors.series_id,
            (coalesce(sums.stable, 0) + 7) / (coalesce(sums.n_cases, 0) + 10) as stable,
            (coalesce(sums.flaky, 0) + 2) / (coalesce(sums.n_cases, 0) + 10) as flaky,
            (coalesce(sums.failing, 0) + 1) / (coalesce(sums.n_cases, 0) + 10) as failing,
            greatest(0.0005e0, least(
                0.03e0,
                (coalesce(sums.n_failures, 0) + 1) / (coalesce(sums.n_rounds, 0) + 100)
            )) as failure_rate

        from priors_{{ step - 1 }} as priors
        left join sums_{{ step }} as sums using (series_id)

    ),
{% endfor %}
priors as (

    select

        ---------- ids
        series_id,

        ---------- numerics
        stable,
        flaky,
        failing,
        failure_rate

    from priors_2

)

select * from priors
