-- One row per question of a memory run's conversation (`task_id`) that could not be asked.
with

source as (select * from {{ source('raw', 'memory_invalid_questions') }} where {{ is_live() }}),

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
