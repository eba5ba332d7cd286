{{ config(materialized=view_of_step()) }}

-- One row per round and dimension with the scorer `expectations` or `rules`: the share of checks that hold; a
-- list of rules is one check.
with

dimensions as (
    select * from {{ ref('promptlab', 'int_dimensions_resolved') }}
    where scorer in ('expectations', 'rules') and problem is null
),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),
matches as (select * from {{ ref('promptlab', 'int_match_results') }}),
rules as (select * from {{ ref('promptlab', 'int_rules_checked') }}),

checks as (

    select
        'expectations' as scorer,
        task_id,
        case_id,
        round_id,
        matched as holds,
        'invalid_pattern' as reason

    from matches

    union all

    select
        'rules' as scorer,
        task_id,
        case_id,
        round_id,
        holds,
        reason

    from rules

),

counted as (

    select
        scorer,
        task_id,
        case_id,
        round_id,
        count(holds) as n_judged,
        count(*) filter (where holds) as n_holding,
        min(reason) as reason

    from checks
    group by scorer, task_id, case_id, round_id

),

scored as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        dimensions.dimension_id,
        case
            when counted.n_judged > 0 and rounds.is_error then 0.0
            when counted.n_judged > 0
                then cast(counted.n_holding as double) / counted.n_judged
        end as metric,
        case
            when dimensions.scorer = 'rules' and counted.n_judged is null then 'no_rules'
            when dimensions.scorer = 'expectations' and rounds.testset_id is null
                then 'no_testset'
            when counted.n_judged is null then 'nothing_expected'
            when counted.n_judged = 0 then counted.reason
            when rounds.is_error then 'error_round'
        end as reason,
        cast(null as string) as expected,
        cast(null as string) as actual,
        cast(null as json) as detail

    from dimensions
    inner join rounds using (task_id)
    left join counted using (scorer, task_id, case_id, round_id)

)

select * from scored
