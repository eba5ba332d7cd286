{{ config(materialized='table') }}

-- One row per task that a verdict of this build reads (its own, those of its history) and case: how many rounds ran and
-- gave a verdict, and by which question, assertions and judge (int_case_yardsticks).
with

histories as (
    select * from {{ ref('promptlab', 'int_task_histories') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),

tasks_read as (

    select distinct history_task_id as task_id
    from histories

),

case_rounds as (
    select * from {{ ref('promptlab', 'int_case_rounds') }}
    where task_id in (select tasks_read.task_id from tasks_read)
),
scored_rounds as (
    select * from {{ ref('promptlab', 'int_scored_rounds') }}
    where task_id in (select tasks_read.task_id from tasks_read)
),
yardsticks as (
    select * from {{ ref('promptlab', 'int_case_yardsticks') }}
    where task_id in (select tasks_read.task_id from tasks_read)
),

scored_cases as (

    select
        task_id,
        case_id,
        count(*) as n_scored

    from scored_rounds
    group by task_id, case_id

),

-- a round gave a verdict if it passed or failed, or, in a task without verdicts, if it has a score
counts as (

    select

        ---------- ids
        yardsticks.task_id,
        yardsticks.case_id,

        ---------- strings
        yardsticks.question_hash,
        yardsticks.assertions_hash,
        yardsticks.judge_hash,
        yardsticks.yardstick,

        ---------- numerics
        coalesce(case_rounds.n_run, 0) as n_run,
        coalesce(case_rounds.n_rounds, 0) as n_rounds,
        coalesce(case_rounds.n_passed, 0) as n_passed,
        coalesce(case_rounds.n_errors, 0) as n_errors,
        coalesce(case_rounds.n_cached, 0) as n_cached,
        case
            when coalesce(scored_cases.n_scored, 0) > 0
                then scored_cases.n_scored + coalesce(case_rounds.n_errors, 0)
            else coalesce(case_rounds.n_run - case_rounds.n_unjudged, 0)
        end as n_judged,

        ---------- booleans
        coalesce(case_rounds.n_rounds, 0) > 0 or coalesce(scored_cases.n_scored, 0) > 0 as has_verdict

    from yardsticks
    left join case_rounds using (task_id, case_id)
    left join scored_cases using (task_id, case_id)

)

select * from counts
