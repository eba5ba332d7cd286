with

questions as (select * from {{ ref('int_memory_questions_compared') }}),
labels as (select * from {{ ref('int_memory_category_labels') }}),

in_millionths as (

    select
        *,
        {{ millionths('delta') }} as millionths

    from questions

),

-- first by conversation and category, since a question counts under several labels
by_task as (

    select
        baseline_run_id,
        candidate_run_id,
        task_id,
        metric,
        category,
        bool_and(is_right_metric) as is_right_metric,
        {{ paired_parts() }}

    from in_millionths
    group by baseline_run_id, candidate_run_id, task_id, metric, category

),

by_label as (

    select
        by_task.baseline_run_id,
        by_task.candidate_run_id,
        by_task.metric,
        labels.label,
        count(distinct case when by_task.n_pairs > 0 then by_task.task_id end) as n_tasks,
        bool_and(by_task.is_right_metric) as is_right_metric,
        {{ added_parts() }}

    from by_task
    inner join labels
        on
            by_task.candidate_run_id = labels.run_id
            and by_task.category = labels.category
    group by by_task.baseline_run_id, by_task.candidate_run_id, by_task.metric, labels.label

),

summed as (

    select

        ---------- ids
        baseline_run_id,
        candidate_run_id,
        metric,
        case when label = 'all' then 'overall' else 'category' end as level,
        label as category,

        ---------- numerics
        n_tasks,
        {{ paired_sums() }},

        ---------- booleans
        is_right_metric,
        is_all_or_nothing

    from by_label

)

select * from summed
