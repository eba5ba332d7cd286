{{ config(materialized='view') }}

-- One row per task, rule of the gate's policy and tag: the number that the rule limits, over the cases
-- that have the tag now or had it in the last run: the share that passes, or that does not fail.
with

tags as (select * from {{ ref('promptlab', 'dim_case_tags') }}),
results as (select * from {{ ref('promptlab', 'fct_case_results') }}),
odds as (select * from {{ ref('promptlab', 'fct_case_odds') }}),
verdicts as (select * from {{ ref('promptlab', 'fct_verdicts') }}),

-- rounds of re-checks count like the others
cases as (

    select
        tags.task_id,
        tags.tag,
        tags.case_id,
        results.status,
        coalesce(odds.n_passed_now, results.n_rounds_passed) as n_passed,
        coalesce(odds.n_rounds_now + odds.n_errors_now, results.n_rounds) as n_rounds

    from tags
    inner join results
        on tags.task_id = results.task_id and tags.case_id = results.case_id
    left join odds
        on tags.task_id = odds.task_id and tags.case_id = odds.case_id

),

-- cases of the last run that do not have the tag now
lost as (

    select
        verdicts.task_id,
        earlier.tag,
        earlier.case_id,
        'missing' as status,
        cast(0 as bigint) as n_passed,
        cast(0 as bigint) as n_rounds

    from verdicts
    inner join tags as earlier on verdicts.last_task_id = earlier.task_id
    left join tags
        on
            verdicts.task_id = tags.task_id
            and earlier.case_id = tags.case_id
            and earlier.tag = tags.tag
    where tags.case_id is null

),

all_cases as (

    select * from cases
    union all
    select * from lost

),

with_outcomes as (

    select
        *,
        status in ('unevaluated', 'missing') as is_unknown,
        status in ('fail', 'error') or (status = 'pass' and n_passed < n_rounds)
            as is_failing_once,
        status in ('fail', 'error', 'pass') and 2 * n_passed < n_rounds as is_failing_mostly

    from all_cases

),

rates as (

    select
        task_id,
        'tags.min_pass_rate' as rule,
        tag as subject,
        cast(count(*) filter (where status = 'pass') as double)
        / nullif(count(*) filter (where not is_unknown), 0) as value,
        count(*) filter (where not is_unknown) as n,
        count(*) as n_total,
        {{ json_list_of('case_id', 'case_id', 'is_unknown', 1000) }} as names,
        case
            when count(*) filter (where status = 'missing') > 0 then 'missing'
            when count(*) filter (where is_unknown) > 0 then 'unevaluated'
        end as reason

    from with_outcomes
    group by task_id, tag

),

by_majority as (

    select
        task_id,
        'tags.must_pass.majority' as rule,
        tag as subject,
        1 - cast(count(*) filter (where is_failing_mostly) as double) / count(*) as value,
        count(*) filter (where is_failing_mostly) as n,
        count(*) as n_total,
        {{ json_list_of('case_id', 'case_id', 'is_failing_mostly', 1000) }} as names,
        cast(null as string) as reason

    from with_outcomes
    group by task_id, tag

),

by_every_round as (

    select
        task_id,
        'tags.must_pass.every_round' as rule,
        tag as subject,
        1 - cast(count(*) filter (where is_failing_once) as double) / count(*) as value,
        count(*) filter (where is_failing_once) as n,
        count(*) as n_total,
        {{ json_list_of('case_id', 'case_id', 'is_failing_once', 1000) }} as names,
        cast(null as string) as reason

    from with_outcomes
    group by task_id, tag

),

rules as (

    select * from rates
    union all
    select * from by_majority
    union all
    select * from by_every_round

)

select * from rules
