{{ config(materialized='table') }}

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

read_tasks as (

    select distinct counted_task_id as task_id
    from histories

),

case_rounds as (
    select * from {{ ref('promptlab', 'int_case_rounds') }}
    where task_id in (select read_tasks.task_id from read_tasks)
),
scored_rounds as (
    select * from {{ ref('promptlab', 'int_scored_rounds') }}
    where task_id in (select read_tasks.task_id from read_tasks)
),
yardsticks as (
    select * from {{ ref('promptlab', 'int_case_yardsticks') }}
    where task_id in (select read_tasks.task_id from read_tasks)
),

-- of titles without verdicts a scored round is a judged one
scored as (

    select
        task_id,
        case_id,
        count(*) as n_scored

    from scored_rounds
    group by task_id, case_id

),

counted as (

    select
        yardsticks.task_id,
        yardsticks.case_id,
        yardsticks.question_hash,
        yardsticks.assertions_hash,
        yardsticks.judge_hash,
        coalesce(case_rounds.n_run, 0) as n_run,
        coalesce(case_rounds.n_rounds, 0) as n_rounds,
        coalesce(case_rounds.n_passed, 0) as n_passed,
        coalesce(case_rounds.n_errors, 0) as n_errors,
        coalesce(case_rounds.n_cached, 0) as n_cached,
        case
            when coalesce(scored.n_scored, 0) > 0
                then scored.n_scored + coalesce(case_rounds.n_errors, 0)
            else coalesce(case_rounds.n_run - case_rounds.n_unjudged, 0)
        end as n_judged,
        coalesce(case_rounds.n_rounds, 0) > 0 or coalesce(scored.n_scored, 0) > 0 as has_verdict

    from yardsticks
    left join case_rounds using (task_id, case_id)
    left join scored using (task_id, case_id)

),

now as (

    select counted.*

    from variants
    inner join counted using (task_id)

),

earlier as (

    select
        histories.task_id as asking_task_id,
        histories.history,
        histories.place,
        histories.place = min(histories.place) over (
            partition by histories.task_id, histories.history
        ) as is_last_run,
        max(case when histories.history = 'base' then 1 else 0 end) over (
            partition by histories.task_id
        ) = 1 as has_base_runs,
        histories.counted_task_id

    from histories
    where histories.place > 0

),

-- runs of the base branch count always; a push only where there are none, or where a person
-- accepted the case in it. Place 0 is this run, 1 the one before
remembered as (

    select
        earlier.asking_task_id,
        earlier.history,
        earlier.place,
        earlier.is_last_run,
        counted.*

    from earlier
    inner join counted on earlier.counted_task_id = counted.task_id
    left join accepted
        on
            earlier.asking_task_id = accepted.task_id
            and earlier.history = accepted.history
            and counted.case_id = accepted.case_id
    where
        earlier.place <= coalesce(accepted.first_place, earlier.place)
        and (
            earlier.history = 'base'
            or not earlier.has_base_runs
            or accepted.first_place is not null
        )

),

known as (

    select
        asking_task_id,
        case_id,
        bool_or(is_last_run) as is_of_last_run,
        max(n_passed) > 0 as has_passed

    from remembered
    group by asking_task_id, case_id

),

last_judged as (

    select
        *,
        row_number() over (
            partition by asking_task_id, case_id
            -- `base` before `branch`
            order by history, place
        ) as choice

    from remembered
    where has_verdict

),

-- a case that the last run lacks was dropped there, unless it had passed and failed when it was
-- last judged
before as (

    select last_judged.*

    from last_judged
    inner join known using (asking_task_id, case_id)
    where
        last_judged.choice = 1
        and (
            known.is_of_last_run
            or (known.has_passed and last_judged.n_passed < last_judged.n_rounds)
        )

),

rejected as (

    select distinct
        variants.task_id,
        rejects.record_id as case_id

    from variants
    inner join tasks using (task_id)
    inner join rejects on tasks.load_id = rejects.load_id

),

joined as (

    select
        coalesce(now.task_id, before.asking_task_id) as task_id,
        coalesce(now.case_id, before.case_id) as case_id,
        before.case_id is not null as was_judged,
        coalesce(now.has_verdict, false) as has_verdict,
        now.n_rounds,
        now.n_passed,
        now.n_errors,
        before.n_rounds as n_rounds_last,
        before.n_passed as n_passed_last,
        case
            when now.case_id is null and rejected.case_id is not null then 'rejected'
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
        end as why

    from now
    full outer join before
        on now.task_id = before.asking_task_id and now.case_id = before.case_id
    left join rejected
        on before.asking_task_id = rejected.task_id and before.case_id = rejected.case_id

),

final as (

    select

        ---------- ids
        task_id,
        case_id,

        ---------- strings
        why,

        ---------- numerics
        coalesce(n_errors, 0) as n_errors,
        coalesce(n_rounds_last, 0) as n_rounds_last,
        coalesce(n_passed_last, 0) as n_passed_last,

        ---------- booleans
        has_verdict,
        was_judged,
        was_judged and why is not null as is_gap

    from joined

)

select * from final
