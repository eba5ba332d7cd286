{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per task and case: its status over its rounds, and its score over its dimensions.
with

cases as (select * from {{ ref('promptlab', 'stg_tasks__cases') }} where {{ in_this_build() }}),
rounds as (select * from {{ ref('promptlab', 'int_round_results') }}),
round_scores as (select * from {{ ref('promptlab', 'int_round_scores') }} where score is not null),
case_scores as (select * from {{ ref('promptlab', 'int_case_scores') }} where {{ in_this_build() }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimension_weights') }} where weight_used > 0),

-- rounds scored on a dimension whose weight is used
scored_rounds as (

    select distinct
        round_scores.task_id,
        round_scores.case_id,
        round_scores.round_id

    from round_scores
    inner join dimensions using (task_id, dimension_id)

),

counted as (

    select
        rounds.task_id,
        rounds.case_id,
        count(*) as n_rounds,
        count(scored_rounds.round_id) as n_rounds_scored,
        count(*) filter (where rounds.status = 'pass') as n_rounds_passed,
        count(*) filter (where rounds.status = 'fail') as n_rounds_failed,
        count(*) filter (where rounds.status = 'error') as n_rounds_in_error,
        count(*) filter (where rounds.status = 'unevaluated') as n_rounds_unevaluated,
        -- rounds in error without a score; an error that scores 0 has one
        count(*) filter (
            where rounds.status = 'error' and scored_rounds.round_id is null
        ) as n_rounds_unanswered,
        bool_and(rounds.must_have_pass) as must_have_pass,
        -- an error breaks no case whose other rounds answer
        coalesce(
            bool_and(rounds.must_have_pass) filter (where rounds.status <> 'error'),
            bool_and(rounds.must_have_pass)
        ) as answered_must_have_pass,
        bool_and(rounds.reported_must_have_pass) as reported_must_have_pass

    from rounds
    left join scored_rounds using (task_id, case_id, round_id)
    group by rounds.task_id, rounds.case_id

),

weighed as (

    select
        case_scores.task_id,
        case_scores.case_id,
        round(
            {{ exact_sum('dimensions.weight_used * case_scores.score') }} / {{ exact_sum('dimensions.weight_used') }},
            6
        ) as aggregated_score

    from case_scores
    inner join dimensions using (task_id, dimension_id)
    where case_scores.score is not null
    group by case_scores.task_id, case_scores.case_id

),

results as (

    select

        ---------- ids
        cases.task_id,
        cases.case_id,

        ---------- strings
        case
            when coalesce(counted.n_rounds, 0) = 0 then 'unevaluated'
            when counted.n_rounds_in_error = counted.n_rounds then 'error'
            when counted.n_rounds_failed + counted.n_rounds_in_error > 0 then 'fail'
            when counted.n_rounds_unevaluated > 0 then 'unevaluated'
            else 'pass'
        end as status,
        -- rounds in error break no case whose other rounds pass; nor do they fix one
        case
            when
                counted.n_rounds_passed > 0
                and counted.n_rounds_passed + counted.n_rounds_in_error = counted.n_rounds
                then 'pass'
            else status
        end as answered_status,

        ---------- numerics
        weighed.aggregated_score,
        coalesce(counted.n_rounds, 0) as n_rounds,
        coalesce(counted.n_rounds_scored, 0) as n_rounds_scored,
        coalesce(counted.n_rounds_passed, 0) as n_rounds_passed,
        coalesce(counted.n_rounds_failed, 0) as n_rounds_failed,
        coalesce(counted.n_rounds_in_error, 0) as n_rounds_in_error,
        coalesce(counted.n_rounds_unevaluated, 0) as n_rounds_unevaluated,
        coalesce(counted.n_rounds_unanswered, 0) as n_rounds_unanswered,

        ---------- booleans
        counted.must_have_pass,
        counted.answered_must_have_pass,
        counted.reported_must_have_pass

    from cases
    left join counted using (task_id, case_id)
    left join weighed using (task_id, case_id)

)

select * from results
