with

sums as (select * from {{ ref('int_memory_comparison_sums') }}),
pairs as (select * from {{ ref('int_memory_run_pairs') }}),
metrics as (select * from {{ ref('memory_metrics') }}),
categories as (select * from {{ ref('memory_categories') }}),

described as (

    select
        *,
        is_right_metric or is_all_or_nothing as has_passes,
        case
            when n_shared = 0 then 'no_shared_question'
            when n_comparable = 0 then 'no_comparable_question'
            else 'no_paired_question'
        end as reason_without_pairs

    from sums

),

-- a family of tests: the categories of a pair and metric, and their groups
decided as (

    {{ judged_comparisons(
        'described',
        keys=['baseline_run_id', 'candidate_run_id', 'metric', 'category'],
        kept=['n_tasks', 'is_right_metric'],
        family=['baseline_run_id', 'candidate_run_id', 'metric'],
    ) | indent }}

),

judged as (

    select
        decided.*,
        metrics.label as metric_name,
        metrics.label_en as metric_name_en,
        case
            when decided.category = '(none)' then '没有类别'
            else concat_ws(' ', decided.category, categories.name_zh)
        end as category_name,
        case
            when decided.category = '(none)' then 'no category'
            else concat_ws(' ', decided.category, categories.name_en)
        end as category_name_en

    from decided
    inner join pairs using (baseline_run_id, candidate_run_id)
    inner join metrics using (metric)
    left join categories
        on pairs.dataset = categories.dataset and decided.category = categories.category

)

select * from judged
