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
overall_tests as (select * from {{ ref('promptlab', 'int_overall_rate_tests') }}),
changes as (select * from {{ ref('promptlab', 'int_changes_since_last_run') }}),
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

compared_cases as (

    select
        comparability.task_id,
        count(*) filter (where comparability.was_judged) as n_cases_before,
        count(*) filter (where comparability.was_judged and not comparability.is_gap)
            as n_cases_compared,
        bool_or(comparability.has_verdict) as has_new_answers

    from comparability
    group by comparability.task_id

),

changed_cases as (

    select
        task_id,
        count(*) filter (where is_newly_failing) as n_newly_failing,
        count(*) filter (where is_newly_passing) as n_newly_passing

    from case_odds
    group by task_id

),

gone_variants as (

    select
        task_id,
        sum(n_cases) as n_cases

    from missing
    group by task_id

),

changes_joined as (

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
        overall_tests.measure,
        accepts.reason as accept_reason,

        ---------- numerics
        run_odds.n_variants,
        cast(run_odds.n_earlier as bigint) as n_earlier_runs,
        round(run_odds.odds, 9) as odds,
        round(
            {{ odds_of_any(
                'run_odds.n_earlier', 'policy.few_runs', 'of_variants.sum_of_odds', 'of_variants.sum_of_logs'
            ) }},
            9
        ) as odds_of_variant,
        overall_tests.p as p_whole,
        policy.broad_level / run_odds.n_variants as p_whole_limit,
        round(overall_tests.rate_now, 6) as rate_now,
        round(overall_tests.rate_before, 6) as rate_before,
        cast(coalesce(compared_cases.n_cases_before, 0) + coalesce(gone_variants.n_cases, 0) as bigint)
            as n_cases_before,
        coalesce(compared_cases.n_cases_compared, 0) as n_cases_compared,
        coalesce(changed_cases.n_newly_failing, 0) as n_newly_failing,
        coalesce(changed_cases.n_newly_passing, 0) as n_newly_passing,

        ---------- booleans
        baselines.last_task_id is null as is_first_run,
        accepts.task_id is not null as is_accepted,
        coalesce(compared_cases.has_new_answers, false) as has_new_answers,

        ---------- timestamps
        accepts.accepted_at,

        ---------- json
        cast(coalesce(changes_joined.changes_text, '[]') as json) as changes

    from variants
    inner join baselines using (task_id)
    inner join run_odds using (title, run_id)
    cross join policy
    left join of_variants using (task_id)
    left join compared_cases using (task_id)
    left join changed_cases using (task_id)
    left join gone_variants using (task_id)
    left join overall_tests using (task_id)
    left join changes_joined using (task_id)
    left join accepts using (task_id)

)

select * from final
