{{ config(materialized='table') }}

-- One row per task and case with rounds in its history: rounds and passes now, before, and since the
-- run in which it most likely broke, with the odds for that.
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
chosen_cases as (

    select cases.*
    from cases
    inner join run_odds using (title, run_id, history)

),

sums as (

    select
        chosen_cases.task_id,
        chosen_cases.case_id,
        sum(case when cells.runs_ago = 0 then cells.x else 0 end) as n_passed_now,
        sum(case when cells.runs_ago = 0 then cells.n else 0 end) as n_rounds_now,
        sum(case when cells.runs_ago > 0 then cells.x else 0 end) as n_passed_before,
        sum(case when cells.runs_ago > 0 then cells.n else 0 end) as n_rounds_before,
        sum(case when cells.runs_ago > 0 then 1 else 0 end) as n_runs_before,
        sum(case when cells.runs_ago < chosen_cases.n_broken_runs then cells.x else 0 end) as n_passed_since,
        sum(case when cells.runs_ago < chosen_cases.n_broken_runs then cells.n else 0 end) as n_rounds_since

    from chosen_cases
    inner join cells using (series_id, case_id)
    group by chosen_cases.task_id, chosen_cases.case_id

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
breaks as (

    select
        chosen_cases.task_id,
        chosen_cases.case_id,
        histories.history_run_id as since_run_id,
        earlier.task_id as since_task_id,
        earlier.created_at as since_at

    from chosen_cases
    inner join histories
        on
            chosen_cases.title = histories.title
            and chosen_cases.run_id = histories.run_id
            and chosen_cases.history = histories.history
            and chosen_cases.n_broken_runs = histories.runs_ago + 1
    left join task_histories
        on
            chosen_cases.task_id = task_histories.task_id
            and histories.history = task_histories.history
            and histories.runs_ago = task_histories.runs_ago
    left join variants as earlier on task_histories.history_task_id = earlier.task_id

),

records as (

    select

        ---------- ids
        chosen_cases.task_id,
        chosen_cases.case_id,
        breaks.since_run_id,
        breaks.since_task_id,

        ---------- numerics
        sums.n_passed_now,
        sums.n_rounds_now,
        sums.n_passed_before,
        sums.n_rounds_before,
        sums.n_runs_before,
        sums.n_passed_since,
        sums.n_rounds_since,
        rechecked.n_rounds as n_rounds_recheck,
        chosen_cases.log_evidence,
        chosen_cases.log_evidence_together,
        case when sums.n_rounds_before > 0 then chosen_cases.odds_in_one + chosen_cases.odds_in_all end as odds,

        ---------- booleans
        chosen_cases.is_known_flaky,

        ---------- timestamps
        breaks.since_at

    from chosen_cases
    inner join sums using (task_id, case_id)
    left join rechecked using (task_id, case_id)
    left join breaks using (task_id, case_id)

)

select * from records
