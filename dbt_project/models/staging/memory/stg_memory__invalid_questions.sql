with

source as ({{ live_rows('memory_invalid_questions') }}),

renamed as (

    select

        ---------- ids
        load_id,
        run_id,
        task_id,

        ---------- strings
        question,
        reason,

        ---------- numerics
        position as question_position,
        question_index

    from source

)

select * from renamed
