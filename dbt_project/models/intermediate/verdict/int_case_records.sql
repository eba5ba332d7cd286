{{ config(materialized='table') }}

-- One row per task and case: its rounds and passes now, before, and since the run in which it most likely broke.
with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
run_odds as (select * from {{ ref('promptlab', 'int_run_odds') }}),
cases as (select * from {{ ref('promptlab', 'int_odds_cases') }}),
cells as (select * from {{ ref('promptlab', 'int_odds_cells') }}),
histories as (select * from {{ ref('promptlab', 'int_run_histories') }}),
task_histories as (select * from {{ ref('promptlab', 'int_task_histories') }}),
rechecks as (select * from {{ ref('promptlab', 'int_rechecks') }}),
case_rounds as (
    select * from {{ ref('promptlab', 'int_case_rounds') }}
    where task_id in (select rechecks.recheck_task_id from rechecks)
),

-- of the history that gives the run its odds
chosen as (

    select cases.*
    from cases
    inner join run_odds using (title, run_id, history)

),

sums as (

    select
        chosen.task_id,
        chosen.case_id,
        sum(case when cells.runs_ago = 0 then cells.x else 0 end) as n_passed_now,
        sum(case when cells.runs_ago = 0 then cells.n else 0 end) as n_rounds_now,
        sum(case when cells.runs_ago > 0 then cells.x else 0 end) as n_passed_before,
        sum(case when cells.runs_ago > 0 then cells.n else 0 end) as n_rounds_before,
        sum(case when cells.runs_ago > 0 then 1 else 0 end) as n_runs_before,
        sum(case when cells.runs_ago < chosen.n_broken_runs then cells.x else 0 end) as n_passed_since,
        sum(case when cells.runs_ago < chosen.n_broken_runs then cells.n else 0 end) as n_rounds_since

    from chosen
    inner join cells using (series_id, case_id)
    group by chosen.task_id, chosen.case_id

),

rechecked as (

    select
        rechecks.task_id,
        case_rounds.case_id,
        sum(case_rounds.n_rounds) as n_rounds

    from rechecks
    inner join case_rounds on rechecks.recheck_task_id = case_rounds.task_id
    group by rechecks.task_id, case_rounds.case_id

),

-- the run in which it began, and the task of the variant there
began as (

    select
        chosen.task_id,
        chosen.case_id,
        histories.history_run_id as since_run_id,
        earlier.task_id as since_task_id,
        earlier.created_at as since_at

    from chosen
    inner join histories
        on
            chosen.title = histories.title
            and chosen.run_id = histories.run_id
            and chosen.history = histories.history
            and chosen.n_broken_runs = histories.runs_ago + 1
    left join task_histories
        on
            chosen.task_id = task_histories.task_id
            and histories.history = task_histories.history
            and histories.runs_ago = task_histories.runs_ago
    left join variants as earlier on task_histories.history_task_id = earlier.task_id

),

records as (

    select

        ---------- ids
        chosen.task_id,
        chosen.case_id,
        began.since_run_id,
        began.since_task_id,

        ---------- numerics
        sums.n_passed_now,
        sums.n_rounds_now,
        sums.n_passed_before,
        sums.n_rounds_before,
        sums.n_runs_before,
        sums.n_passed_since,
        sums.n_rounds_since,
        rechecked.n_rounds as n_rounds_recheck,
        chosen.log_evidence,
        chosen.log_evidence_together,
        case when sums.n_rounds_before > 0 then chosen.odds_in_one + chosen.odds_in_all end as odds,

        ---------- booleans
        chosen.is_known_flaky,

        ---------- timestamps
        began.since_at

    from chosen
    inner join sums using (task_id, case_id)
    left join rechecked using (task_id, case_id)
    left join began using (task_id, case_id)

)

select * from records
