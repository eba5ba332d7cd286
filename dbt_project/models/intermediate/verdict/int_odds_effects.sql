-- One row per series (int_odds_series) and window (int_odds_windows): the design effect, by how much
-- passes vary more from run to run than independent rounds would. Numbers of rounds are divided by it.
with

windows as (select * from {{ ref('promptlab', 'int_odds_windows') }}),

summed as (

    select
        series_id,
        n_broken_runs,
        max(n_runs_before) as n_runs_before,
        max(max_rounds_of_a_run) as max_rounds_of_a_run,
        {{ exact_sum('squares_seen') }} as squares_seen,
        {{ exact_sum('squares_if_independent') }} as squares_if_independent

    from windows
    group by series_id, n_broken_runs

),

effects as (

    select

        ---------- ids
        series_id,

        ---------- numerics
        n_broken_runs,
        -- fewer than three runs do not show it
        case
            when n_runs_before >= 3
                then
                    greatest(1e0, least(
                        greatest(max_rounds_of_a_run, 1),
                        (squares_seen + 1) / (squares_if_independent + 1)
                    ))
            else 1e0
        end as effect

    from summed

)

select * from effects
