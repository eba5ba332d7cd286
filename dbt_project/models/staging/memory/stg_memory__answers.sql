with

source as (

    select * from {{ source('raw', 'memory_answers') }}

),

renamed as (

    select

        ---------- ids
        load_id,
        run_id,
        task_id,
        question_key,

        ---------- strings
        question_text,
        predicted_answer,
        category,
        error,

        ---------- numerics
        test_index,
        question_index,
        position as question_position,

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
