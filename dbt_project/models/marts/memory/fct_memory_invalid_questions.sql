-- One row per memory run, conversation (`task_id`) and question of it that could not be asked.
with

invalid_questions as (
    select * from {{ ref('promptlab', 'stg_memory__invalid_questions') }}
    where {{ in_this_build('memory_runs') }}
),

final as (

    select

        ---------- ids
        run_id,
        task_id,
        question_position,

        ---------- strings
        question,
        reason,

        ---------- numerics
        question_index

    from invalid_questions

)

select * from final
