{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per task and case: how many of its rounds ran, gave a verdict and passed. Errors, answers
-- from a cache and copies of another round's answer give none.
with

rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),
results as (select * from {{ ref('promptlab', 'int_round_results') }}),

answered as (

    select
        results.task_id,
        results.case_id,
        results.round_id,
        results.status,
        rounds.run_index,
        coalesce(rounds.is_cached, false) as is_cached,
        results.status in ('pass', 'fail') and not coalesce(rounds.is_cached, false) as has_verdict,
        -- short answers are the same by chance
        case when length(rounds.answer) >= 40 then md5(rounds.answer) else results.round_id end
            as answer_key

    from results
    inner join rounds using (task_id, case_id, round_id)

),

-- a long answer that comes again word for word is a copy: it counts once
with_copies as (

    select
        *,
        row_number() over (
            partition by task_id, case_id, has_verdict, answer_key
            order by run_index nulls last, round_id
        ) > 1 as is_copy

    from answered

),

counts as (

    select

        ---------- ids
        task_id,
        case_id,

        ---------- numerics
        count(*) as n_run,
        count(*) filter (where has_verdict and not is_copy) as n_rounds,
        count(*) filter (where has_verdict and not is_copy and status = 'pass') as n_passed,
        count(*) filter (where is_cached) as n_cached,
        count(*) filter (where status = 'error') as n_errors,
        count(*) filter (where status = 'unevaluated') as n_unjudged

    from with_copies
    group by task_id, case_id

)

select * from counts
