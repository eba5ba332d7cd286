{{ config(materialized=view_of_step()) }}

-- The same with its verdict and the reason for it, and with the names of its parts.
with

tested as (select * from {{ ref('int_memory_comparisons_tested') }}),
policy as (select * from {{ ref('comparison_policy') }}),
metrics as (select * from {{ ref('memory_metrics') }}),
categories as (
    select * from {{ ref('dim_memory_categories') }}
    where {{ in_this_build('memory_runs') }}
),

-- one family of tests per pair and metric: its categories and their groups
ranked as (

    select
        *,
        {{ bh_rank('p_value', 'baseline_run_id, candidate_run_id, metric, level') }} as p_rank,
        count(p_value) over (
            partition by baseline_run_id, candidate_run_id, metric, level
        ) as n_tests

    from tested

),

adjusted as (

    select
        *,
        {{ bh_adjusted(
            'p_value', 'p_rank', 'n_tests', 'baseline_run_id, candidate_run_id, metric, level'
        ) }} as p_in_family

    from ranked

),

joined as (

    select
        adjusted.*,
        case when adjusted.level = 'category' then adjusted.p_in_family end as p_adjusted,
        case
            when adjusted.level = 'category' then adjusted.p_in_family
            else adjusted.p_value
        end as deciding_p,
        policy.max_p,
        policy.min_pairs,
        policy.margin,
        metrics.label as metric_name,
        metrics.label_en as metric_name_en,
        case
            when adjusted.category = '(none)' then '没有类别'
            else concat_ws(' ', adjusted.category, categories.name_zh)
        end as category_name,
        case
            when adjusted.category = '(none)' then 'no category'
            else concat_ws(' ', adjusted.category, categories.name_en)
        end as category_name_en

    from adjusted
    cross join policy
    inner join metrics using (metric)
    left join categories
        on
            adjusted.candidate_run_id = categories.run_id
            and adjusted.category = categories.category

),

decided as (

    select
        *,
        {{ comparison_verdict() }} as verdict,
        {{ interval_ends() }}

    from joined

),

judged as (

    select

        ---------- ids
        baseline_run_id,
        candidate_run_id,
        metric,
        level,
        category,

        ---------- strings
        metric_name,
        metric_name_en,
        category_name,
        category_name_en,
        verdict,
        case
            when verdict = 'not_comparable'
                then case
                    when n_shared = 0 then 'no_shared_question'
                    when n_comparable = 0 then 'no_comparable_question'
                    else 'no_paired_question'
                end
            when verdict = 'inconclusive' then {{ inconclusive_reason() }}
        end as reason,

        ---------- numerics
        n_pairs,
        n_tasks,
        n_better,
        n_worse,
        n_same,
        n_judged,
        n_lost,
        n_gained,
        baseline_score,
        candidate_score,
        delta,
        sd,
        {{ interval_with_width() }},
        p_value,
        p_adjusted,
        deciding_p,
        mcnemar_p,
        smallest_detectable,
        margin,

        ---------- booleans
        is_right_metric

    from decided

)

select * from judged
