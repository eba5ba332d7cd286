with

answers as (select * from {{ ref('int_memory_answers_classified') }}),
scores as (
    select * from {{ ref('int_memory_answers_scored') }}
    where {{ in_this_build('memory_runs') }}
),

final as (

    select

        ---------- ids
        answers.run_id,
        answers.task_id,
        answers.test_index,
        answers.question_index,
        answers.question_key,

        ---------- strings
        answers.category,
        answers.question_text,
        answers.predicted_answer,
        answers.error,
        scores.status,

        ---------- numerics
        scores.exact_match,
        scores.token_f1,
        scores.locomo_f1,
        scores.mem0_f1,
        scores.contains_reference,
        scores.right_score,

        ---------- booleans
        answers.is_failed,
        answers.has_reference,
        scores.is_last_round,

        ---------- json
        answers.reference_answer,
        answers.evidence,
        answers.extras

    from answers
    inner join scores using (run_id, task_id, test_index, question_index)

)

select * from final
