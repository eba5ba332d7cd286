{{ config(materialized='table') }}

-- One row per series of one variant and task whose rounds are in it: the run, earlier ones and re-checks.
with

series as (select * from {{ ref('promptlab', 'int_odds_series') }}),
histories as (select * from {{ ref('promptlab', 'int_task_histories') }}),
rechecks as (select * from {{ ref('promptlab', 'int_rechecks') }}),

history_tasks as (

    select
        series.series_id,
        histories.runs_ago,
        histories.history_task_id as task_id

    from series
    inner join histories using (task_id, history)

),

-- the rounds of a re-check are rounds of the run that it repeats
final as (

    select
        *,
        false as is_recheck

    from history_tasks

    union all

    select
        history_tasks.series_id,
        history_tasks.runs_ago,
        rechecks.recheck_task_id as task_id,
        true as is_recheck

    from history_tasks
    inner join rechecks using (task_id)

)

select * from final
