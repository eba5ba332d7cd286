with

pairs as (

    select * from {{ ref('int_memory_retention_pairs') }}

),

answers as (

    select * from {{ ref('fct_memory_answers') }}

),

forgotten as (

    select
        run_id,
        task_id,
        question_key,
        min(test_index_after) as forgotten_at,
        count(*) as n_forgotten_pairs

    from pairs
    where status_after = 'fail'
    group by run_id, task_id, question_key

),

-- The last time that each was asked: in its file's last round as a rule.
last_asked as (

    select
        forgotten.run_id,
        forgotten.task_id,
        forgotten.question_key,
        max(answers.test_index) as test_index

    from forgotten
    inner join answers
        on
            forgotten.run_id = answers.run_id
            and forgotten.task_id = answers.task_id
            and forgotten.question_key = answers.question_key
    group by forgotten.run_id, forgotten.task_id, forgotten.question_key

),

last_right as (

    select
        forgotten.run_id,
        forgotten.task_id,
        forgotten.question_key,
        forgotten.forgotten_at,
        forgotten.n_forgotten_pairs,
        max(pairs.test_index_before) as right_at

    from forgotten
    inner join pairs
        on
            forgotten.run_id = pairs.run_id
            and forgotten.task_id = pairs.task_id
            and forgotten.question_key = pairs.question_key
            and forgotten.forgotten_at = pairs.test_index_after
    group by
        forgotten.run_id,
        forgotten.task_id,
        forgotten.question_key,
        forgotten.forgotten_at,
        forgotten.n_forgotten_pairs

),

final as (

    select

        ---------- ids
        last_right.run_id,
        last_right.task_id,
        last_right.question_key,
        last_right.right_at as right_test_index,
        last_right.forgotten_at as forgotten_test_index,
        last_answer.question_index,

        ---------- strings
        last_answer.category,
        last_answer.question_text,
        before.predicted_answer as answer_before,
        after.predicted_answer as answer_after,
        last_answer.status as last_status,

        ---------- numerics
        last_right.n_forgotten_pairs,

        ---------- json
        last_answer.reference_answer,
        last_answer.evidence

    from last_right
    inner join answers as before
        on
            last_right.run_id = before.run_id
            and last_right.task_id = before.task_id
            and last_right.question_key = before.question_key
            and last_right.right_at = before.test_index
    inner join answers as after
        on
            last_right.run_id = after.run_id
            and last_right.task_id = after.task_id
            and last_right.question_key = after.question_key
            and last_right.forgotten_at = after.test_index
    inner join last_asked
        on
            last_right.run_id = last_asked.run_id
            and last_right.task_id = last_asked.task_id
            and last_right.question_key = last_asked.question_key
    inner join answers as last_answer
        on
            last_asked.run_id = last_answer.run_id
            and last_asked.task_id = last_answer.task_id
            and last_asked.question_key = last_answer.question_key
            and last_asked.test_index = last_answer.test_index

)

select * from final
