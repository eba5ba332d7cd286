{{ config(materialized=view_of_step()) }}

with

answers as (
    select * from {{ ref('stg_memory__answers') }}
    where {{ in_this_build('memory_runs') }}
),
runs as (select * from {{ ref('stg_memory__runs') }} where {{ in_this_build('memory_runs') }}),

final as (

    select

        ---------- ids
        answers.run_id,
        answers.task_id,
        answers.test_index,
        answers.question_index,
        answers.question_key,
        answers.load_id,

        ---------- strings
        runs.dataset,
        answers.category,
        answers.question_text,
        answers.predicted_answer,
        answers.error,

        ---------- booleans
        -- "[ERROR]" in the answer's place is no answer, error message or not.
        coalesce(
            answers.error is not null
            or case
                when contains(answers.predicted_answer, '[ERROR]')
                    then {{ stripped('answers.predicted_answer') }} = '[ERROR]'
            end,
            false
        ) as is_failed,
        answers.reference_texts is not null as has_reference,

        ---------- json
        answers.reference_answer,
        answers.evidence,
        answers.reference_texts,
        answers.answer_stems,
        answers.reference_stems,
        answers.extras

    from answers
    inner join runs using (run_id, task_id)

)

select * from final
