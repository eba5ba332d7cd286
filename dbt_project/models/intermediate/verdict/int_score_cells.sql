-- One row per series (int_odds_series), case and run of it that has scores and no verdicts: the mean
-- score, of runs that were judged as the newest.
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
scored_cases as (

    select
        means.task_id,
        means.case_id,
        means.score,
        concat_ws(' ', yardsticks.yardstick, means.dimensions_hash) as yardstick

    from means
    inner join yardsticks using (task_id, case_id)

),

scores_of_runs as (

    select
        tasks.series_id,
        tasks.runs_ago,
        scored_cases.task_id,
        scored_cases.case_id,
        scored_cases.score,
        scored_cases.yardstick,
        first_value(scored_cases.yardstick) over (
            partition by tasks.series_id, scored_cases.case_id order by tasks.runs_ago
        ) as own_yardstick

    from tasks
    inner join scored_cases using (task_id)

),

cells as (

    select

        ---------- ids
        scores_of_runs.series_id,
        scores_of_runs.case_id,

        ---------- numerics
        scores_of_runs.runs_ago,
        scores_of_runs.score

    from scores_of_runs
    inner join series using (series_id)
    left join accepted
        on
            series.task_id = accepted.task_id
            and series.history = accepted.history
            and scores_of_runs.case_id = accepted.case_id
    where
        scores_of_runs.yardstick = scores_of_runs.own_yardstick
        and scores_of_runs.runs_ago <= coalesce(accepted.accepted_runs_ago, scores_of_runs.runs_ago)

)

select * from cells
