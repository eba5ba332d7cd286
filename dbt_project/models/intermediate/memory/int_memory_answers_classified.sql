{{ config(materialized=view_of_step()) }}

with

answers as (
    select * from {{ ref('stg_memory__answers') }}
    where {{ in_this_build(column='run_id') }}
),

final as (

    select

        ---------- ids
        load_id,
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
        is_failed,
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
