{{ config(materialized='table') }}

-- One row per task and case, of its run or of the last run that judged the case: why the two are not compared
-- (`reason_not_compared`).
with

variants as (
    select * from {{ ref('promptlab', 'int_task_variants') }}
    where recheck_of is null and {{ in_this_build('comparisons', 'task_id') }}
),
histories as (
    select * from {{ ref('promptlab', 'int_task_histories') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),
accepted as (select * from {{ ref('promptlab', 'int_accepted_cases') }}),
tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
rejects as (select * from {{ ref('promptlab', 'stg_loads__rejects') }} where severity = 'reject'),

tasks_in_scope as (

    select distinct history_task_id as task_id
    from histories

),

case_rounds as (
    select * from {{ ref('promptlab', 'int_case_rounds') }}
    where task_id in (select tasks_in_scope.task_id from tasks_in_scope)
),
scored_rounds as (
    select * from {{ ref('promptlab', 'int_scored_rounds') }}
    where task_id in (select tasks_in_scope.task_id from tasks_in_scope)
),
yardsticks as (
    select * from {{ ref('promptlab', 'int_case_yardsticks') }}
    where task_id in (select tasks_in_scope.task_id from tasks_in_scope)
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
case_counts as (

    select
        yardsticks.task_id,
        yardsticks.case_id,
        yardsticks.question_hash,
        yardsticks.assertions_hash,
        yardsticks.judge_hash,
        yardsticks.yardstick,
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
        coalesce(case_rounds.n_rounds, 0) > 0 or coalesce(scored_cases.n_scored, 0) > 0 as has_verdict

    from yardsticks
    left join case_rounds using (task_id, case_id)
    left join scored_cases using (task_id, case_id)

),

cases_now as (

    select case_counts.*

    from variants
    inner join case_counts using (task_id)

),

earlier_tasks as (

    select
        task_id,
        history,
        runs_ago,
        history_task_id,
        runs_ago = min(runs_ago) over (partition by task_id, history) as is_last_run,
        bool_or(history = 'base') over (partition by task_id) as has_base_runs,
        row_number() over (partition by task_id order by history <> 'base', runs_ago) as place

    from histories
    where runs_ago > 0

),

-- a push to a branch counts only where the base branch has no runs, or where a person accepted
-- the case in it
cases_before as (

    select
        earlier_tasks.task_id as task_id_now,
        earlier_tasks.is_last_run,
        earlier_tasks.place,
        case_counts.*

    from earlier_tasks
    inner join case_counts on earlier_tasks.history_task_id = case_counts.task_id
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

-- what a case was by the yardstick of now, and by others before; and its last verdict by either
case_histories as (

    select
        before.task_id_now,
        before.case_id,
        bool_or(before.is_last_run) as is_in_last_run,
        max(before.n_passed) > 0 as has_passed,
        max(case when before.yardstick = now.yardstick then before.n_passed else 0 end)
        + coalesce(max(now.n_passed), 0) > 0 as has_passed_by_own,
        max(case when before.yardstick <> now.yardstick then before.n_passed else 0 end) > 0
            as has_passed_by_other,
        min(case when before.has_verdict then before.place end) as last_place,
        min(case when before.has_verdict and before.yardstick <> now.yardstick then before.place end)
            as last_place_by_other

    from cases_before as before
    left join cases_now as now
        on before.task_id_now = now.task_id and before.case_id = now.case_id
    group by before.task_id_now, before.case_id

),

-- the last run that judged the case. An edit does not hide a break: a case that has passed by
-- another yardstick and never by its own is compared with the last run of the other
last_verdicts as (

    select
        *,
        case
            when has_passed_by_other and not has_passed_by_own then last_place_by_other
            else last_place
        end as place

    from case_histories

),

-- a case that the last run lacks was dropped there on purpose, unless it was broken: it had
-- passed, and its last verdict was not a full pass
reference_cases as (

    select before.*

    from last_verdicts
    inner join cases_before as before using (task_id_now, case_id, place)
    where
        last_verdicts.is_in_last_run
        or (last_verdicts.has_passed and before.n_passed < before.n_rounds)

),

rejected_cases as (

    select distinct
        variants.task_id,
        rejects.record_id as case_id

    from variants
    inner join tasks using (task_id)
    inner join rejects on tasks.load_id = rejects.load_id

),

compared as (

    select
        coalesce(now.task_id, before.task_id_now) as task_id,
        coalesce(now.case_id, before.case_id) as case_id,
        before.case_id is not null as was_judged,
        coalesce(now.has_verdict, false) as has_verdict,
        coalesce(now.n_errors, 0) as n_errors,
        coalesce(before.n_rounds, 0) as n_rounds_last,
        coalesce(before.n_passed, 0) as n_passed_last,
        case
            when now.case_id is null and rejected_cases.case_id is not null then 'rejected'
            when now.case_id is null then 'gone'
            when not now.has_verdict and now.n_cached > 0 then 'cached'
            when not now.has_verdict and now.n_errors > 0 and now.n_errors = now.n_run then 'errors'
            when not now.has_verdict then 'unjudged'
            when before.case_id is null then null
            when now.question_hash <> before.question_hash then 'question'
            when now.assertions_hash <> before.assertions_hash then 'assertions'
            when now.judge_hash <> before.judge_hash then 'judge'
            when now.n_run < before.n_run then 'fewer_rounds'
            when now.n_judged < before.n_judged then 'unjudged'
        end as reason_not_compared

    from cases_now as now
    full outer join reference_cases as before
        on now.task_id = before.task_id_now and now.case_id = before.case_id
    left join rejected_cases
        on before.task_id_now = rejected_cases.task_id and before.case_id = rejected_cases.case_id

),

final as (

    select

        ---------- ids
        task_id,
        case_id,

        ---------- strings
        reason_not_compared,

        ---------- numerics
        n_errors,
        n_rounds_last,
        n_passed_last,

        ---------- booleans
        has_verdict,
        was_judged,
        was_judged and reason_not_compared is not null as is_gap

    from compared

)

select * from final
