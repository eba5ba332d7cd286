{{ config(materialized='table') }}

-- One row per task and case, of its run or only of the run that it is compared with (int_reference_cases): why its
-- verdict is not compared with that run (`reason_not_compared`), and whether that is a gap in what the run shows.
with

variants as (
    select * from {{ ref('promptlab', 'int_task_variants') }}
    where recheck_of is null and {{ in_this_build('comparisons', 'task_id') }}
),
case_counts as (select * from {{ ref('promptlab', 'int_case_counts') }}),
reference_cases as (select * from {{ ref('promptlab', 'int_reference_cases') }}),
tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
rejects as (select * from {{ ref('promptlab', 'stg_loads__rejects') }} where severity = 'reject'),

cases_now as (

    select case_counts.*

    from variants
    inner join case_counts using (task_id)

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
        coalesce(cases_now.task_id, reference_cases.task_id) as task_id,
        coalesce(cases_now.case_id, reference_cases.case_id) as case_id,
        reference_cases.case_id is not null as was_judged,
        coalesce(cases_now.has_verdict, false) as has_verdict,
        coalesce(cases_now.n_errors, 0) as n_errors,
        coalesce(reference_cases.n_rounds, 0) as n_rounds_last,
        coalesce(reference_cases.n_passed, 0) as n_passed_last,
        case
            when cases_now.case_id is null and rejected_cases.case_id is not null then 'rejected'
            when cases_now.case_id is null then 'gone'
            when not cases_now.has_verdict and cases_now.n_cached > 0 then 'cached'
            when
                not cases_now.has_verdict
                and cases_now.n_errors > 0
                and cases_now.n_errors = cases_now.n_run
                then 'errors'
            when not cases_now.has_verdict then 'unjudged'
            when reference_cases.case_id is null then null
            when cases_now.question_hash <> reference_cases.question_hash then 'question'
            when cases_now.assertions_hash <> reference_cases.assertions_hash then 'assertions'
            when cases_now.judge_hash <> reference_cases.judge_hash then 'judge'
            when cases_now.n_run < reference_cases.n_run then 'fewer_rounds'
            when cases_now.n_judged < reference_cases.n_judged then 'unjudged'
        end as reason_not_compared

    from cases_now
    full outer join reference_cases
        on
            cases_now.task_id = reference_cases.task_id
            and cases_now.case_id = reference_cases.case_id
    left join rejected_cases
        on
            reference_cases.task_id = rejected_cases.task_id
            and reference_cases.case_id = rejected_cases.case_id

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
