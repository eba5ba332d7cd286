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

-- its runs, the last first
placed_tasks as (

    select
        *,
        row_number() over (
            partition by series_id order by runs_ago, is_recheck, task_id
        ) as place

    from tasks

),

counted as (

    select
        placed_tasks.series_id,
        placed_tasks.runs_ago,
        placed_tasks.place,
        case_rounds.case_id,
        case_rounds.n_passed,
        case_rounds.n_rounds,
        yardsticks.yardstick

    from placed_tasks
    inner join case_rounds using (task_id)
    inner join yardsticks using (task_id, case_id)

),

last_yardsticks as (

    select
        series_id,
        case_id,
        min_by(yardstick, place) as yardstick

    from counted
    group by series_id, case_id

),

counts as (

    select
        counted.series_id,
        counted.case_id,
        counted.runs_ago,
        cast(sum(counted.n_passed) as double) as x,
        cast(sum(counted.n_rounds) as double) as n

    from counted
    inner join last_yardsticks using (series_id, case_id, yardstick)
    inner join series using (series_id)
    left join accepted
        on
            series.task_id = accepted.task_id
            and series.history = accepted.history
            and counted.case_id = accepted.case_id
    where counted.runs_ago <= coalesce(accepted.accepted_runs_ago, counted.runs_ago)
    group by counted.series_id, counted.case_id, counted.runs_ago

)

select * from counts
