{{ config(unique_key='task_id', meta={'batch': 'comparisons', 'mentions': ['last_task_id', 'last_run_id']}) }}

-- One row per task (a variant in a run): the odds that it broke a case, and what else a verdict on it rests on.
with

variants as (
    select * from {{ ref('promptlab', 'int_task_variants') }}
    where recheck_of is null and {{ in_this_build('comparisons', 'task_id') }}
),
baselines as (select * from {{ ref('promptlab', 'int_task_baselines') }}),
run_odds as (select * from {{ ref('promptlab', 'int_run_odds') }}),
odds_cases as (select * from {{ ref('promptlab', 'int_odds_cases') }} where not is_known_flaky),
case_odds as (
    select * from {{ ref('promptlab', 'fct_case_odds') }} where {{ in_this_build('comparisons', 'task_id') }}
),
comparability as (select * from {{ ref('promptlab', 'int_case_comparability') }}),
missing as (select * from {{ ref('promptlab', 'int_missing_variants') }}),
whole_rates as (select * from {{ ref('promptlab', 'int_whole_rates') }}),
changes as (select * from {{ ref('promptlab', 'int_changes') }}),
accepts as (select * from {{ ref('promptlab', 'stg_tasks__accepts') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

of_variants as (

    select
        odds_cases.task_id,
        sum(
            odds_cases.odds_in_one + odds_cases.odds_in_all order by odds_cases.odds_in_one + odds_cases.odds_in_all
        ) as sum_of_odds,
        {{ exact_sum(ln_of_one_plus('odds_cases.odds_in_one')) }}
        + {{ exact_sum(ln_of_one_plus('odds_cases.odds_in_all')) }} as sum_of_logs

    from odds_cases
    inner join run_odds using (title, run_id, history)
    group by odds_cases.task_id

),

counted as (

    select
        comparability.task_id,
        count(*) filter (where comparability.was_judged) as n_cases_before,
        count(*) filter (where comparability.was_judged and not comparability.is_gap)
            as n_cases_compared,
        bool_or(comparability.has_verdict) as has_new_answers

    from comparability
    group by comparability.task_id

),

failing as (

    select
        task_id,
        count(*) filter (where is_newly_failing) as n_newly_failing,
        count(*) filter (where is_newly_passing) as n_newly_passing

    from case_odds
    group by task_id

),

gone as (

    select
        task_id,
        sum(n_cases) as n_cases

    from missing
    group by task_id

),

described as (

    select
        task_id,
        '[' || string_agg(
            cast(json_object('what', what, 'name', name, 'n', n_cases) as string),
            ',' order by position, what
        ) || ']' as changes_text

    from changes
    group by task_id

),

final as (

    select

        ---------- ids
        variants.task_id,
        variants.run_id,
        baselines.last_task_id,
        baselines.last_run_id,

        ---------- strings
        variants.title,
        variants.variant,
        whole_rates.measure,
        accepts.reason as accept_reason,

        ---------- numerics
        run_odds.n_variants,
        cast(run_odds.n_earlier as bigint) as n_earlier_runs,
        round(run_odds.odds, 9) as odds,
        round(
            case
                when run_odds.n_earlier = 0 then null
                when run_odds.n_earlier <= policy.few_runs
                    then coalesce(of_variants.sum_of_odds, 0)
                else {{ exp_minus_one('least(coalesce(of_variants.sum_of_logs, 0), 300)') }}
            end,
            9
        ) as odds_of_variant,
        whole_rates.p as p_whole,
        policy.broad_level / run_odds.n_variants as p_whole_limit,
        round(whole_rates.rate_now, 6) as rate_now,
        round(whole_rates.rate_before, 6) as rate_before,
        cast(coalesce(counted.n_cases_before, 0) + coalesce(gone.n_cases, 0) as bigint) as n_cases_before,
        coalesce(counted.n_cases_compared, 0) as n_cases_compared,
        coalesce(failing.n_newly_failing, 0) as n_newly_failing,
        coalesce(failing.n_newly_passing, 0) as n_newly_passing,

        ---------- booleans
        baselines.last_task_id is null as is_first_run,
        accepts.task_id is not null as is_accepted,
        coalesce(counted.has_new_answers, false) as has_new_answers,

        ---------- timestamps
        accepts.accepted_at,

        ---------- json
        cast(coalesce(described.changes_text, '[]') as json) as changes

    from variants
    inner join baselines using (task_id)
    inner join run_odds using (title, run_id)
    cross join policy
    left join of_variants using (task_id)
    left join counted using (task_id)
    left join failing using (task_id)
    left join gone using (task_id)
    left join whole_rates using (task_id)
    left join described using (task_id)
    left join accepts using (task_id)

)

select * from final
