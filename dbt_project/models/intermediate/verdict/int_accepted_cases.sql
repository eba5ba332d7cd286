-- One row per task, history and case that a person accepted: only runs from then on (`accepted_runs_ago`)
-- count for the case.
with

accepts as (select * from {{ ref('promptlab', 'stg_tasks__accepts') }}),
variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),
histories as (
    select * from {{ ref('promptlab', 'int_task_histories') }}
    where history_task_id in (select accepts.task_id from accepts)
),

cases as (

    select
        task_id,
        unnest(json_extract_string(cases, '$[*]')) as case_id

    from accepts

),

-- a person accepted these cases as they were in a run: their history starts there
starts as (

    select
        histories.task_id,
        histories.history,
        cases.case_id,
        histories.runs_ago

    from histories
    inner join cases on histories.history_task_id = cases.task_id

    union all

    -- 0: none of the base runs counts, they are all older than the accepted push
    select
        histories.task_id,
        'base' as history,
        cases.case_id,
        0 as runs_ago

    from histories
    inner join cases on histories.history_task_id = cases.task_id
    inner join variants on histories.history_task_id = variants.task_id
    where histories.history = 'branch' and not variants.is_base_branch

),

final as (

    select
        task_id,
        history,
        case_id,
        min(runs_ago) as accepted_runs_ago

    from starts
    group by task_id, history, case_id

)

select * from final
