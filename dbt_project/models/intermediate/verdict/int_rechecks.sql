{{ config(materialized=view_of_step()) }}

-- One row per task that asks cases of another task again (`recheck_task_id`), with that task: its
-- rounds count as rounds of it.
with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),

repeated as (select * from variants where recheck_of is null),

-- a re-check names a task, or a run with several variants: then it is of its own variant
resolved as (

    select
        rechecks.task_id as recheck_task_id,
        repeated.task_id

    from variants as rechecks
    inner join repeated
        on
            rechecks.recheck_of = repeated.task_id
            or (
                rechecks.recheck_of = repeated.run_id
                and rechecks.provider = repeated.provider
                and rechecks.prompt_hash = repeated.prompt_hash
            )
    qualify row_number() over (
        partition by rechecks.task_id
        order by
            case when rechecks.variant = repeated.variant then 0 else 1 end,
            repeated.task_id
    ) = 1

),

rechecks as (

    select
        recheck_task_id,
        task_id

    from resolved

)

select * from rechecks
