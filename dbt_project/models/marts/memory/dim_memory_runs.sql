{{ config(materialized='table') }}

with

tasks as (

    select * from {{ ref('dim_memory_tasks') }}

),

right_metrics as (

    select * from {{ ref('int_memory_right_metrics') }}

),

summed as (

    select
        run_id,
        max(dataset) as dataset,
        max(run_timestamp) as run_timestamp,
        max(memory_system) as memory_system,
        min(started_at) as started_at,
        count(*) as n_tasks,
        max(n_rounds) as n_rounds,
        cast(sum(total_sessions) as bigint) as total_sessions,
        cast(sum(total_dialogs) as bigint) as total_dialogs,
        cast(sum(n_questions) as bigint) as n_questions,
        cast(sum(n_valid) as bigint) as n_valid,
        cast(sum(n_invalid) as bigint) as n_invalid,
        cast(sum(n_asked) as bigint) as n_asked,
        cast(sum(n_never_asked) as bigint) as n_never_asked,
        cast(sum(n_answers) as bigint) as n_answers,
        cast(sum(n_failed) as bigint) as n_failed

    from tasks
    group by run_id

),

in_history as (

    select
        *,
        lag(run_id) over (
            partition by dataset, memory_system
            order by started_at nulls first, run_id
        ) as previous_run_id

    from summed

),

final as (

    select

        ---------- ids
        in_history.run_id,
        in_history.previous_run_id,

        ---------- strings
        in_history.dataset,
        in_history.run_timestamp,
        in_history.memory_system,
        right_metrics.right_metric,

        ---------- numerics
        right_metrics.right_threshold,
        in_history.n_tasks,
        in_history.n_rounds,
        in_history.total_sessions,
        in_history.total_dialogs,
        in_history.n_questions,
        in_history.n_valid,
        in_history.n_invalid,
        in_history.n_asked,
        in_history.n_never_asked,
        in_history.n_answers,
        in_history.n_failed,

        ---------- timestamps
        in_history.started_at

    from in_history
    left join right_metrics
        on in_history.run_id = right_metrics.run_id

)

select * from final
