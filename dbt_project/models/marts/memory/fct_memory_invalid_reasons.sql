-- One row per memory run and reason why questions of it could not be asked: how many.
with

invalid_questions as (
    select * from {{ ref('promptlab', 'fct_memory_invalid_questions') }}
    where {{ in_this_build('memory_runs') }}
),

final as (

    select

        ---------- ids
        run_id,

        ---------- strings
        reason,

        ---------- numerics
        count(*) as n_questions,
        count(distinct task_id) as n_tasks

    from invalid_questions
    group by run_id, reason

)

select * from final
