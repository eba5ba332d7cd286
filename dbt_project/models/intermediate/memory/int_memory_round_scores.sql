-- One row per memory run, conversation (`task_id`), round, category (its own name, its group, `all`)
-- and metric: the number of questions and the sum of their scores, which all averages are made of.
with

answers as (
    select * from {{ ref('promptlab', 'int_memory_answers_scored') }}
    where {{ in_this_build('memory_runs') }}
),
datasets as (
    select distinct
        run_id,
        dataset
    from {{ ref('promptlab', 'stg_memory__runs') }}
    where {{ in_this_build('memory_runs') }}
),
categories as (select * from {{ ref('promptlab', 'promptlab_memory_categories') }} where category_group is not null),

-- a category counts under its name, in its data set's group and in all
run_categories as (

    select distinct
        run_id,
        coalesce(category, '(none)') as category

    from answers

),

labels as (

    select
        run_id,
        category,
        category as label
    from run_categories

    union

    select
        run_id,
        category,
        'all' as label
    from run_categories

    union

    select
        run_categories.run_id,
        run_categories.category,
        categories.category_group as label
    from run_categories
    inner join datasets using (run_id)
    inner join categories using (dataset, category)

),

-- One pass over the answers; everything after it works on a row per round and category.
counts as (

    select
        run_id,
        task_id,
        test_index,
        {% for metric, counts in fromjson(memory_metrics()).items() %}
            count(*) filter (where {{ counts }}) as n_{{ metric }},
            count(*) filter (where {{ counts }} and is_failed) as n_failed_{{ metric }},
            {{ exact_sum(metric) }} as sum_{{ metric }},
        {% endfor %}
        is_last_round,
        is_chinese_run,
        coalesce(category, '(none)') as category

    from answers
    group by
        run_id, task_id, test_index, is_last_round, is_chinese_run, coalesce(category, '(none)')

),

by_metric as (

    select
        counts.run_id,
        counts.task_id,
        counts.test_index,
        counts.is_last_round,
        counts.category,
        metrics.metric,
        {{ by_memory_metric('metrics.metric', 'counts.n_{metric}') }} as n_questions,
        {{ by_memory_metric('metrics.metric', 'counts.n_failed_{metric}') }} as n_failed,
        {{ by_memory_metric('metrics.metric', 'counts.sum_{metric}') }} as score_sum

    from counts
    cross join {{ memory_metric_rows() }} as metrics
    where counts.is_chinese_run or metrics.metric not in {{ chinese_metrics() }}

),

final as (

    select

        ---------- ids
        by_metric.run_id,
        by_metric.task_id,
        by_metric.test_index,
        labels.label as category,
        by_metric.metric,

        ---------- numerics
        cast(sum(by_metric.n_questions) as bigint) as n_questions,
        cast(sum(by_metric.n_failed) as bigint) as n_failed,
        coalesce({{ exact_sum('by_metric.score_sum') }}, 0) as score_sum,

        ---------- booleans
        by_metric.is_last_round

    from by_metric
    inner join labels using (run_id, category)
    group by
        by_metric.run_id,
        by_metric.task_id,
        by_metric.test_index,
        labels.label,
        by_metric.metric,
        by_metric.is_last_round

)

select * from final
