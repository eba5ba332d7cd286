{{ config(materialized=view_of_step()) }}

-- One row per task and case that an earlier run judged and that its own run has to judge, too: what the case was in the
-- run that it is compared with, the last one of its history that judged it.
with

histories as (
    select * from {{ ref('promptlab', 'int_task_histories') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),
accepted as (select * from {{ ref('promptlab', 'int_accepted_cases') }}),
case_counts as (select * from {{ ref('promptlab', 'int_case_counts') }}),

earlier_tasks as (

    select
        task_id,
        history,
        runs_ago,
        history_task_id,
        runs_ago = min(runs_ago) over (partition by task_id, history) as is_last_run,
        bool_or(history = 'base') over (partition by task_id) as has_base_runs,
        row_number() over (partition by task_id order by history <> 'base', runs_ago) as run_rank

    from histories
    where runs_ago > 0

),

-- a push to a branch counts only where the base branch has no runs, or where a person accepted
-- the case in it
earlier_cases as (

    select
        earlier_tasks.task_id as task_id_now,
        earlier_tasks.is_last_run,
        earlier_tasks.run_rank,
        case_counts.*,
        counts_now.n_passed as n_passed_now,
        case_counts.yardstick = counts_now.yardstick as has_own_yardstick

    from earlier_tasks
    inner join case_counts on earlier_tasks.history_task_id = case_counts.task_id
    left join case_counts as counts_now
        on
            earlier_tasks.task_id = counts_now.task_id
            and case_counts.case_id = counts_now.case_id
    left join accepted
        on
            earlier_tasks.task_id = accepted.task_id
            and earlier_tasks.history = accepted.history
            and case_counts.case_id = accepted.case_id
    where
        earlier_tasks.runs_ago <= coalesce(accepted.accepted_runs_ago, earlier_tasks.runs_ago)
        and (
            earlier_tasks.history = 'base'
            or not earlier_tasks.has_base_runs
            or accepted.accepted_runs_ago is not null
        )

),

-- what a case was by the yardstick of now, and by others before, and in which run it last had a
-- verdict by them
case_histories as (

    select
        task_id_now,
        case_id,
        bool_or(is_last_run) as is_in_last_run,
        max(n_passed) > 0 as has_passed,
        max(case when has_own_yardstick then n_passed else 0 end)
        + coalesce(max(n_passed_now), 0) > 0 as has_passed_by_own,
        max(case when not has_own_yardstick then n_passed else 0 end) > 0 as has_passed_by_other,
        min(case when has_verdict then run_rank end) as newest_verdict,
        min(case when has_verdict and not has_own_yardstick then run_rank end)
            as newest_verdict_by_other

    from earlier_cases
    group by task_id_now, case_id

),

-- the last run that judged the case. An edit does not hide a break: a case that has passed by
-- another yardstick and never by its own is compared with the last run of the other
last_verdicts as (

    select
        *,
        case
            when has_passed_by_other and not has_passed_by_own then newest_verdict_by_other
            else newest_verdict
        end as run_rank

    from case_histories

),

-- a case that the last run lacks was dropped there on purpose, unless it was broken: it had
-- passed, and its last verdict was not a full pass
reference_cases as (

    select

        ---------- ids
        earlier_cases.task_id_now as task_id,
        earlier_cases.case_id,

        ---------- strings
        earlier_cases.question_hash,
        earlier_cases.assertions_hash,
        earlier_cases.judge_hash,

        ---------- numerics
        earlier_cases.n_run,
        earlier_cases.n_rounds,
        earlier_cases.n_passed,
        earlier_cases.n_judged

    from last_verdicts
    inner join earlier_cases using (task_id_now, case_id, run_rank)
    where
        last_verdicts.is_in_last_run
        or (last_verdicts.has_passed and earlier_cases.n_passed < earlier_cases.n_rounds)

)

select * from reference_cases
