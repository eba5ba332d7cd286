{{ config(materialized='table') }}

-- One row per series of one variant (int_odds_series), case and run of it: `x` passes in `n` rounds,
-- of those that were judged by the yardstick of the newest run.
with

series as (select * from {{ ref('promptlab', 'int_odds_series') }}),
tasks as (select * from {{ ref('promptlab', 'int_odds_tasks') }}),
case_rounds as (
    select * from {{ ref('promptlab', 'int_case_rounds') }}
    where n_rounds > 0 and task_id in (select tasks.task_id from tasks)
),
yardsticks as (
    select * from {{ ref('promptlab', 'int_case_yardsticks') }}
    where task_id in (select tasks.task_id from tasks)
),
accepted as (select * from {{ ref('promptlab', 'int_accepted_cases') }}),

rounds_of_runs as (

    select
        tasks.series_id,
        tasks.runs_ago,
        tasks.task_id,
        case_rounds.case_id,
        case_rounds.n_passed,
        case_rounds.n_rounds,
        yardsticks.yardstick,
        first_value(yardsticks.yardstick) over (
            partition by tasks.series_id, case_rounds.case_id
            order by tasks.runs_ago, tasks.is_recheck, tasks.task_id
        ) as own_yardstick

    from tasks
    inner join case_rounds using (task_id)
    inner join yardsticks using (task_id, case_id)

),

counts as (

    select
        rounds_of_runs.series_id,
        rounds_of_runs.case_id,
        rounds_of_runs.runs_ago,
        cast(sum(rounds_of_runs.n_passed) as double) as x,
        cast(sum(rounds_of_runs.n_rounds) as double) as n

    from rounds_of_runs
    inner join series using (series_id)
    left join accepted
        on
            series.task_id = accepted.task_id
            and series.history = accepted.history
            and rounds_of_runs.case_id = accepted.case_id
    where
        rounds_of_runs.yardstick = rounds_of_runs.own_yardstick
        and rounds_of_runs.runs_ago <= coalesce(accepted.accepted_runs_ago, rounds_of_runs.runs_ago)
    group by rounds_of_runs.series_id, rounds_of_runs.case_id, rounds_of_runs.runs_ago

)

select * from counts
