{{ config(materialized=view_of_step()) }}

with

timings as (
    select * from {{ ref('stg_memory__timings') }}
    where {{ in_this_build('memory_runs') }} and grain = 'detail'
),

stages as (

    select
        run_id,
        task_id,
        operation,
        stage,
        duration_ms
    from timings

),

totals as (

    select
        run_id,
        task_id,
        operation,
        'total' as stage,
        sum(duration_ms) as duration_ms
    from timings
    group by run_id, task_id, operation, timing_position

),

final as (

    select * from stages

    union all

    select * from totals

)

select * from final
