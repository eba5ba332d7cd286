{{ config(materialized='table') }}

-- One row per title and run: the odds that it broke a case at all, by its history (`base` or `branch`)
-- with the higher odds. Cases that are known to be flaky do not count.
with

cases as (select * from {{ ref('promptlab', 'int_odds_cases') }} where not is_known_flaky),
series as (select * from {{ ref('promptlab', 'int_odds_series') }} where task_id is not null),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

runs as (

    select distinct
        title,
        run_id,
        history,
        n_earlier,
        n_variants

    from series

),

chances as (

    select
        title,
        run_id,
        history,
        odds_in_one as odds

    from cases

    union all

    -- a case that broke in all variants counts once
    select
        title,
        run_id,
        history,
        max(odds_in_all) as odds

    from cases
    group by title, run_id, history, case_id

),

summed as (

    select
        title,
        run_id,
        history,
        sum(odds order by odds) as sum_of_odds,
        {{ exact_sum(ln_of_one_plus('odds')) }} as sum_of_logs

    from chances
    group by title, run_id, history

),

combined as (

    select
        runs.*,
        {{ odds_of_any(
            'runs.n_earlier', 'policy.few_runs', 'summed.sum_of_odds', 'summed.sum_of_logs'
        ) }} as odds

    from runs
    cross join policy
    left join summed using (title, run_id, history)

),

ranked as (

    select *
    from combined
    qualify row_number() over (
        partition by title, run_id order by odds desc nulls last, history
    ) = 1

),

final as (

    select

        ---------- ids
        title,
        run_id,

        ---------- strings
        history,

        ---------- numerics
        n_earlier,
        n_variants,
        odds

    from ranked

)

select * from final
