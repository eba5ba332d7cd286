-- One row per question of a memory run that was right in one round, and later round that asked it
-- again: what became of it. Retention and forgotten questions are counted from it.
with

answers as (
    select * from {{ ref('promptlab', 'int_memory_answers_scored') }}
    where {{ in_this_build('memory_runs') }} and status <> 'unevaluated'
),

final as (

    select

        ---------- ids
        earlier.run_id,
        earlier.task_id,
        earlier.question_key,
        earlier.test_index as test_index_before,
        later.test_index as test_index_after,

        ---------- strings
        later.status as status_after,

        ---------- numerics
        later.test_index - earlier.test_index as lag

    from answers as earlier
    inner join answers as later
        on
            earlier.run_id = later.run_id
            and earlier.task_id = later.task_id
            and earlier.question_key = later.question_key
            and earlier.test_index < later.test_index
    where earlier.status = 'pass'

)

select * from final
