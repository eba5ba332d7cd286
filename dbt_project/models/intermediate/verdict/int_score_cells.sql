-- One row per series (int_odds_series), case and run with scores and no verdicts: the mean score.
with

series as (select * from {{ ref('promptlab', 'int_odds_series') }}),
tasks as (select * from {{ ref('promptlab', 'int_odds_tasks') }} where not is_recheck),
scored_rounds as (
    select * from {{ ref('promptlab', 'int_scored_rounds') }}
    where task_id in (select tasks.task_id from tasks)
),
yardsticks as (
    select * from {{ ref('promptlab', 'int_case_yardsticks') }}
    where task_id in (select tasks.task_id from tasks)
),
accepted as (select * from {{ ref('promptlab', 'int_accepted_cases') }}),

means as (

    select
        task_id,
        case_id,
        min(dimensions_hash) as dimensions_hash,
        {{ exact_mean('score') }} as score

    from scored_rounds
    group by task_id, case_id

),

-- a mean over other dimensions is another number
judged as (

    select
        means.task_id,
        means.case_id,
        means.score,
        concat_ws(' ', yardsticks.yardstick, means.dimensions_hash) as yardstick

    from means
    inner join yardsticks using (task_id, case_id)

),

counted as (

    select
        tasks.series_id,
        tasks.runs_ago,
        judged.task_id,
        judged.case_id,
        judged.score,
        judged.yardstick,
        first_value(judged.yardstick) over (
            partition by tasks.series_id, judged.case_id order by tasks.runs_ago
        ) as own_yardstick

    from tasks
    inner join judged using (task_id)

),

cells as (

    select

        ---------- ids
        counted.series_id,
        counted.case_id,

        ---------- numerics
        counted.runs_ago,
        counted.score

    from counted
    inner join series using (series_id)
    left join accepted
        on
            series.task_id = accepted.task_id
            and series.history = accepted.history
            and counted.case_id = accepted.case_id
    where
        counted.yardstick = counted.own_yardstick
        and counted.runs_ago <= coalesce(accepted.accepted_runs_ago, counted.runs_ago)

)

select * from cells
