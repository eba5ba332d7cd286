{{ config(materialized=view_of_step()) }}

with

answers as (
    select * from {{ ref('stg_memory__answers') }}
    where {{ in_this_build('memory_runs') }}
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

        ---------- booleans
        -- "[ERROR]" in the answer's place is no answer, error message or not.
        coalesce(
            error is not null
            or case
                when contains(predicted_answer, '[ERROR]')
                    then {{ stripped('predicted_answer') }} = '[ERROR]'
            end,
            false
        ) as is_failed,
        reference_texts is not null as has_reference,

        ---------- json
        reference_answer,
        evidence,
        reference_texts,
        answer_stems,
        reference_stems,
        extras

    from answers

)

select * from final
