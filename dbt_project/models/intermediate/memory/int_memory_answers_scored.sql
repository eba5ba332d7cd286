{{ config(materialized='incremental', unique_key='run_id', meta={'batch': 'memory_runs'}) }}

with

answers as (select * from {{ ref('int_memory_answers_classified') }}),
token_scores as (select * from {{ ref('int_memory_token_scores') }}),
locomo_scores as (select * from {{ ref('int_memory_locomo_scores') }}),
right_metrics as (
    select * from {{ ref('int_memory_right_metrics') }}
    where {{ in_this_build('memory_runs') }}
),

last_rounds as (

    select
        run_id,
        task_id,
        max(test_index) as last_test_index

    from {{ ref('int_memory_answers_classified') }}
    group by run_id, task_id

),

scored as (

    select
        answers.*,
        token_scores.exact_match,
        token_scores.token_f1,
        token_scores.contains_reference,
        case
            when coalesce(answers.category, '') <> '5' then token_scores.mem0_f1
        end as mem0_f1,
        case
            when answers.is_failed then null
            when answers.category = '5' then {{ is_refusal('answers.predicted_answer') }}
            -- Where there is no answer there are no stems to compare: as published, 0.
            when answers.has_reference then coalesce(locomo_scores.locomo_f1, 0.0)
        end as locomo_f1,
        right_metrics.right_metric,
        right_metrics.right_threshold,
        answers.test_index = last_rounds.last_test_index as is_last_round

    from answers
    inner join right_metrics using (run_id)
    inner join last_rounds using (run_id, task_id)
    left join token_scores using (run_id, task_id, test_index, question_index)
    left join locomo_scores using (run_id, task_id, test_index, question_index)

),

judged as (

    select
        *,
        {{ score_by('right_metric', 'scored') }} as right_score

    from scored

),

final as (

    select

        ---------- ids
        run_id,
        task_id,
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
        -- two questions without a reference have the same one
        md5(coalesce(cast(reference_answer as string), '')) as reference_hash,

        ---------- numerics
        exact_match,
        token_f1,
        locomo_f1,
        mem0_f1,
        contains_reference,
        right_score,

        ---------- booleans
        is_failed,
        has_reference,
        is_last_round,

        ---------- json
        reference_answer,
        evidence,
        extras

    from judged

)

select * from final
