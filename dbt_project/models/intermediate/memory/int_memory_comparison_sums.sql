with

questions as (select * from {{ ref('int_memory_questions_compared') }}),
labels as (select * from {{ ref('int_memory_category_labels') }}),

labelled as (

    select
        questions.*,
        labels.label,
        case when labels.label = 'all' then 'overall' else 'category' end as level,
        {{ millionths('questions.delta') }} as millionths

    from questions
    inner join labels
        on
            questions.candidate_run_id = labels.run_id
            and questions.category = labels.category

),

summed as (

    select

        ---------- ids
        baseline_run_id,
        candidate_run_id,
        metric,
        level,
        label as category,

        ---------- numerics
        count(distinct case when delta is not null then task_id end) as n_tasks,
        {{ paired_sums() }},

        ---------- booleans
        bool_and(is_right_metric) as is_right_metric,
        {{ all_or_nothing() }} as is_all_or_nothing

    from labelled
    group by baseline_run_id, candidate_run_id, metric, level, label

)

select * from summed
