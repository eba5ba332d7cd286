{{ config(materialized='incremental', unique_key='run_id', meta={'batch': 'memory_runs'}) }}

-- One row per answer of a memory run, by conversation (`task_id`), round (`test_index`) and question: its scores by
-- every metric, and whether it passes by the metric and threshold of its run (int_memory_right_metrics).
with

answers as (
    select * from {{ ref('promptlab', 'stg_memory__answers') }}
    where {{ in_this_build('memory_runs') }}
),
token_scores as (select * from {{ ref('promptlab', 'int_memory_token_scores') }}),
locomo_scores as (select * from {{ ref('promptlab', 'int_memory_locomo_scores') }}),
chinese_scores as (select * from {{ ref('promptlab', 'int_memory_chinese_scores') }}),
run_metrics as (
    select * from {{ ref('promptlab', 'int_memory_right_metrics') }}
    where {{ in_this_build('memory_runs') }}
),

last_rounds as (

    select
        run_id,
        task_id,
        max(test_index) as last_test_index

    from answers
    group by run_id, task_id

),

scored as (

    select
        answers.*,
        {% for metric, counts in fromjson(memory_metrics()).items()
            if metric not in ('locomo_f1', 'cmrc_f1', 'chinese_match') %}
            case when {{ counts }} then token_scores.{{ metric }} end as {{ metric }},
        {% endfor %}
        case when run_metrics.is_chinese_run then chinese_scores.cmrc_f1 end as cmrc_f1,
        case when run_metrics.is_chinese_run then chinese_scores.chinese_match end as chinese_match,
        case
            when answers.is_failed then null
            -- the two phrases that LoCoMo's published score looks for
            when
                answers.category = '5'
                and (
                    contains(lower(answers.predicted_answer), 'no information available')
                    or contains(lower(answers.predicted_answer), 'not mentioned')
                )
                then 1e0
            when answers.category = '5' then 0e0
            -- An answer without stems scores 0, as in the published metric.
            when answers.has_reference then coalesce(locomo_scores.locomo_f1, 0.0)
        end as locomo_f1,
        run_metrics.right_metric,
        run_metrics.right_threshold,
        run_metrics.is_chinese_run,
        answers.test_index = last_rounds.last_test_index as is_last_round

    from answers
    inner join run_metrics using (run_id)
    inner join last_rounds using (run_id, task_id)
    left join token_scores using (run_id, task_id, test_index, question_index)
    left join locomo_scores using (run_id, task_id, test_index, question_index)
    left join chinese_scores using (run_id, task_id, test_index, question_index)

),

with_right_score as (

    select
        *,
        {{ by_memory_metric('right_metric', '{metric}') }} as right_score

    from scored

),

final as (

    select

        ---------- ids
        load_id,
        run_id,
        task_id,
        case_id,
        test_index,
        question_index,
        question_key,

        ---------- strings
        category,
        question_text,
        predicted_answer,
        error,
        case
            when is_failed then 'error'
            when right_score is null then 'unevaluated'
            when right_score >= right_threshold then 'pass'
            else 'fail'
        end as status,

        ---------- numerics
        {% for metric in fromjson(memory_metrics()) %}
            {{ metric }},
        {% endfor %}
        right_score,

        ---------- booleans
        is_failed,
        has_reference,
        is_last_round,
        is_chinese_run,

        ---------- json
        reference_answer,
        evidence,
        extras

    from with_right_score

)

select * from final
