-- One row per memory run, conversation (`task_id`) and question that was right in one round and wrong in a later one.
with

pairs as (select * from {{ ref('promptlab', 'int_memory_retention_pairs') }}),
answers as (
    select * from {{ ref('promptlab', 'fct_memory_answers') }}
    where {{ in_this_build('memory_runs') }}
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

-- All answers to a forgotten question, each of them once.
answers_to_forgotten as (

    select
        answers.*,
        forgotten.forgotten_at,
        forgotten.n_forgotten_pairs,
        max(
            case
                when
                    answers.test_index < forgotten.forgotten_at and answers.status = 'pass'
                    then answers.test_index
            end
        ) over (
            partition by answers.run_id, answers.task_id, answers.question_key
        ) as right_at,
        max(answers.test_index) over (
            partition by answers.run_id, answers.task_id, answers.question_key
        ) as last_at

    from forgotten
    inner join answers using (run_id, task_id, question_key)

),

final as (

    select

        ---------- ids
        run_id,
        task_id,
        question_key,
        max(right_at) as right_test_index,
        max(forgotten_at) as forgotten_test_index,
        max(case when test_index = last_at then question_index end) as question_index,

        ---------- strings
        max(category) as category,
        max(question_text) as question_text,
        max(case when test_index = right_at then predicted_answer end) as answer_before,
        max(case when test_index = forgotten_at then predicted_answer end) as answer_after,
        max(case when test_index = last_at then status end) as last_status,

        ---------- numerics
        max(n_forgotten_pairs) as n_forgotten_pairs,

        ---------- json
        max(case when test_index = last_at then reference_answer end) as reference_answer,
        max(evidence) as evidence

    from answers_to_forgotten
    group by run_id, task_id, question_key

)

select * from final
