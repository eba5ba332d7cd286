{{ config(materialized=view_of_step()) }}

-- One row per answer of a memory run, by conversation (`task_id`), round (`test_index`) and question.
with

source as (select * from {{ source('raw', 'memory_answers') }} where {{ is_live() }}),

renamed as (

    select

        ---------- ids
        load_id,
        run_id,
        task_id,
        question_key,
        -- of its conversation, and of the round that asks it, since rounds are harder or easier
        concat_ws('/', task_id, cast(test_index as string), question_key) as case_id,

        ---------- strings
        question_text,
        predicted_answer,
        category,
        error,

        ---------- numerics
        test_index,
        question_index,
        position as question_position,
        cmrc_f1 as reference_f1,

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
        is_chinese as is_chinese_question,
        is_same,

        ---------- json
        reference_answer,
        reference_texts,
        answer_stems,
        reference_stems,
        evidence,
        extras

    from source

)

select * from renamed
