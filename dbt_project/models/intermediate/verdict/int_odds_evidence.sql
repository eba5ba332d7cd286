{{ config(materialized='table') }}

-- One row per series (int_odds_series) and case that passes less than before: how much likelier its
-- rounds are if it broke than if it did not, as a logarithm, and since how many runs.
with

windows as (select * from {{ ref('promptlab', 'int_odds_windows') }}),
effects as (select * from {{ ref('promptlab', 'int_odds_effects') }}),
priors as (select * from {{ ref('promptlab', 'int_odds_priors') }}),
series as (select * from {{ ref('promptlab', 'int_odds_series') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

-- only a case that passes less than before can have broken
fallen as (

    select * from windows
    where n_now > 0 and x_since * n_before < x_before * n_since

),

-- rounds that are alike count for less
effective as (

    select
        fallen.series_id,
        fallen.case_id,
        fallen.n_broken_runs,
        fallen.x_now / effects.effect as x_now,
        fallen.n_now / effects.effect as n_now,
        fallen.x_before / effects.effect as x_before,
        fallen.n_before / effects.effect as n_before,
        fallen.x_since / effects.effect as x_since,
        fallen.n_since / effects.effect as n_since

    from fallen
    inner join effects using (series_id, n_broken_runs)

),

-- by hypothesis the rounds of the unbroken case: those before the window, those and the
-- candidate's, or all
hypotheses as (

    select
        *,
        'before' as hypothesis,
        x_before as x,
        n_before as n

    from effective

    union all

    select
        *,
        'before_and_now' as hypothesis,
        x_before + x_now as x,
        n_before + n_now as n

    from effective

    union all

    select
        *,
        'all' as hypothesis,
        x_before + x_since as x,
        n_before + n_since as n

    from effective

),

likelihoods as (

    select
        hypotheses.*,
        {{ ln_likelihoods_by_kind('hypotheses.x', 'hypotheses.n') }}

    from hypotheses
    inner join priors using (series_id)

),

likelihoods_of_windows as (

    select
        series_id,
        case_id,
        n_broken_runs,
        max(x_now) as x_now,
        max(n_now) as n_now,
        max(x_since) as x_since,
        max(n_since) as n_since,
        max(case when hypothesis = 'before' then {{ ln_sum_of_kinds() }} end) as ln_before,
        max(case when hypothesis = 'before_and_now' then {{ ln_sum_of_kinds() }} end)
            as ln_before_and_now,
        max(case when hypothesis = 'all' then {{ ln_sum_of_kinds() }} end) as ln_all

    from likelihoods
    group by series_id, case_id, n_broken_runs

),

compared as (

    select
        *,
        ln_before + {{ ln_likelihood_if_broken('x_since', 'n_since') }} - ln_all as ln_ratio

    from likelihoods_of_windows
    -- the candidate's own rounds have to look like a break
    where
        ln_before + {{ ln_likelihood_if_broken('x_now', 'n_now') }} > ln_before_and_now

),

ranked as (

    select
        *,
        max(ln_ratio) over (partition by series_id, case_id) as max_ratio,
        row_number() over (
            partition by series_id, case_id order by ln_ratio desc, n_broken_runs
        ) as ratio_rank

    from compared

),

-- a window of n runs has the weight 1 / n
weights as (

    select
        series.series_id,
        {{ sum_of_series('1e0 / k', '1', 'least(policy.max_windows, series.n_earlier) + 1') }}
            as sum_of_weights

    from series
    cross join policy
    where series.n_earlier > 0

),

evidence as (

    select

        ---------- ids
        ranked.series_id,
        ranked.case_id,

        ---------- numerics
        round(
            max(ranked.max_ratio)
            + ln({{ exact_sum('exp(ranked.ln_ratio - ranked.max_ratio) / ranked.n_broken_runs') }})
            - ln(max(weights.sum_of_weights)),
            9
        ) as log_evidence,
        max(case when ranked.ratio_rank = 1 then ranked.n_broken_runs end) as n_broken_runs

    from ranked
    inner join weights using (series_id)
    group by ranked.series_id, ranked.case_id

)

select * from evidence
