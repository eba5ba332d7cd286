{{ config(materialized='table') }}

-- One row per memory run: counts over all its conversations, and the metric by which its answers are right.
with

tasks as (select * from {{ ref('promptlab', 'dim_memory_tasks') }}),
right_metrics as (select * from {{ ref('promptlab', 'int_memory_right_metrics') }}),
previous_runs as (
    select * from {{ ref('promptlab', 'int_task_baselines') }}
    where matched_by = 'variant'
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

final as (

    select

        ---------- ids
        summed.run_id,
        previous_runs.baseline_task_id as previous_run_id,

        ---------- strings
        summed.dataset,
        summed.run_timestamp,
        summed.memory_system,
        right_metrics.right_metric,
        right_metrics.score_metric,

        ---------- numerics
        right_metrics.right_threshold,
        summed.n_tasks,
        summed.n_rounds,
        summed.total_sessions,
        summed.total_dialogs,
        summed.n_questions,
        summed.n_valid,
        summed.n_invalid,
        summed.n_asked,
        summed.n_never_asked,
        summed.n_answers,
        summed.n_failed,

        ---------- timestamps
        summed.started_at

    from summed
    left join right_metrics using (run_id)
    left join previous_runs
        on summed.run_id = previous_runs.task_id

)

select * from final
