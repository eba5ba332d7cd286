{{ config(materialized=view_of_step()) }}

-- One row per task and case that is not as in the last run of its history: it was added or removed, or it has
-- another question, other assertions or another judge (the first that differs).
with

baselines as (
    select * from {{ ref('promptlab', 'int_task_baselines') }}
    where last_task_id is not null and {{ in_this_build('comparisons', 'task_id') }}
),

read_tasks as (

    select task_id
    from baselines

    union

    select last_task_id as task_id
    from baselines

),

yardsticks as (
    select * from {{ ref('promptlab', 'int_case_yardsticks') }}
    where task_id in (select read_tasks.task_id from read_tasks)
),
case_rounds as (
    select * from {{ ref('promptlab', 'int_case_rounds') }}
    where n_rounds > 0 and task_id in (select read_tasks.task_id from read_tasks)
),

-- of cases with a verdict: what the others were asked decided nothing
yardsticks_used as (

    select yardsticks.*

    from yardsticks
    inner join case_rounds using (task_id, case_id)

),

yardsticks_now as (

    select
        baselines.task_id,
        yardsticks_used.case_id,
        yardsticks_used.question_hash,
        yardsticks_used.assertions_hash,
        yardsticks_used.judge_hash

    from baselines
    inner join yardsticks_used using (task_id)

),

yardsticks_before as (

    select
        baselines.task_id,
        yardsticks_used.case_id,
        yardsticks_used.question_hash,
        yardsticks_used.assertions_hash,
        yardsticks_used.judge_hash

    from baselines
    inner join yardsticks_used on baselines.last_task_id = yardsticks_used.task_id

),

-- over all cases, judged or not: one without a verdict on one side is no added or removed case
presence as (

    select
        baselines.task_id,
        yardsticks.case_id,
        bool_or(yardsticks.task_id = baselines.task_id) as is_asked_now,
        bool_or(yardsticks.task_id = baselines.last_task_id) as was_asked

    from baselines
    inner join yardsticks
        on baselines.task_id = yardsticks.task_id or baselines.last_task_id = yardsticks.task_id
    group by baselines.task_id, yardsticks.case_id

),

compared as (

    select
        task_id,
        case_id,
        case
            when not presence.was_asked then 'cases_added'
            when not presence.is_asked_now then 'cases_removed'
            when yardsticks_now.question_hash <> yardsticks_before.question_hash then 'questions'
            when yardsticks_now.assertions_hash <> yardsticks_before.assertions_hash
                then 'assertions'
            when yardsticks_now.judge_hash <> yardsticks_before.judge_hash then 'judge'
        end as what

    from yardsticks_now
    full outer join yardsticks_before using (task_id, case_id)
    inner join presence using (task_id, case_id)

)

select * from compared
where what is not null
