with

accepts as (select * from {{ ref('promptlab', 'stg_tasks__accepts') }}),
variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),
histories as (
    select * from {{ ref('promptlab', 'int_task_histories') }}
    where counted_task_id in (select accepts.task_id from accepts)
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
        histories.place

    from histories
    inner join cases on histories.counted_task_id = cases.task_id

    union all

    -- all runs of the base branch are older than a push that was accepted
    select
        histories.task_id,
        'base' as history,
        cases.case_id,
        0 as place

    from histories
    inner join cases on histories.counted_task_id = cases.task_id
    inner join variants on histories.counted_task_id = variants.task_id
    where histories.history = 'branch' and not variants.is_base_branch

),

final as (

    select
        task_id,
        history,
        case_id,
        min(place) as first_place

    from starts
    group by task_id, history, case_id

)

select * from final
