{{ config(materialized='table', meta={'batch': 'comparisons'}) }}

-- One row per task, rule of the gate's policy and subject (a dimension or tag): the number that the rule limits.
with

of_tasks as (select * from {{ ref('promptlab', 'int_gate_facts_of_tasks') }}),
of_dimensions as (select * from {{ ref('promptlab', 'int_gate_facts_of_dimensions') }}),
of_tags as (select * from {{ ref('promptlab', 'int_gate_facts_of_tags') }}),
odds as (
    select * from {{ ref('promptlab', 'fct_case_odds') }}
    where is_newly_failing and not coalesce(is_known_flaky, false)
),
verdicts as (select * from {{ ref('promptlab', 'fct_verdicts') }}),

-- the case of a variant that most likely broke, and that of its run
worst_cases as (

    select
        verdicts.task_id,
        verdicts.run_id,
        verdicts.title,
        max(odds.odds) as odds,
        count(odds.case_id) as n_cases

    from verdicts
    left join odds on verdicts.task_id = odds.task_id
    group by verdicts.task_id, verdicts.run_id, verdicts.title

),

worst_cases_of_runs as (

    select
        task_id,
        odds,
        n_cases,
        max(odds) over (partition by run_id, title) as odds_of_run

    from worst_cases

),

rules as (

    select
        task_id,
        rule,
        cast(null as string) as subject,
        value,
        n,
        n_total,
        names,
        reason

    from of_tasks

    union all

    select * from of_dimensions

    union all

    select * from of_tags

    union all

    select
        task_id,
        'case_odds' as rule,
        cast(null as string) as subject,
        odds as value,
        n_cases as n,
        cast(null as bigint) as n_total,
        cast(null as json) as names,
        cast(null as string) as reason

    from worst_cases_of_runs

    union all

    select
        task_id,
        'case_odds_of_run' as rule,
        cast(null as string) as subject,
        odds_of_run as value,
        cast(null as bigint) as n,
        cast(null as bigint) as n_total,
        cast(null as json) as names,
        cast(null as string) as reason

    from worst_cases_of_runs

),

final as (

    select

        ---------- ids
        task_id,

        ---------- strings
        rule,
        subject,
        reason,

        ---------- numerics
        value,
        cast(n as bigint) as n,
        cast(n_total as bigint) as n_total,

        ---------- json
        coalesce(names, cast('[]' as json)) as names

    from rules

)

select * from final
