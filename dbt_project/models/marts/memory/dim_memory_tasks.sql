-- One row per memory run and conversation (`task_id`), which is a file: its size, its questions
-- (valid, asked, never asked) and its answers.
with

runs as (select * from {{ ref('promptlab', 'stg_memory__runs') }} where {{ in_this_build('memory_runs') }}),
tests as (select * from {{ ref('promptlab', 'stg_memory__tests') }} where {{ in_this_build('memory_runs') }}),
answers as (
    select * from {{ ref('promptlab', 'fct_memory_answers') }}
    where {{ in_this_build('memory_runs') }}
),
invalid_questions as (
    select * from {{ ref('promptlab', 'stg_memory__invalid_questions') }}
    where {{ in_this_build('memory_runs') }}
),

rounds as (

    select
        run_id,
        task_id,
        count(*) as n_rounds,
        max(test_index) as last_test_index,
        max(dialogs_inserted_count) as dialogs_inserted

    from tests
    group by run_id, task_id

),

answer_counts as (

    select
        run_id,
        task_id,
        count(*) as n_answers,
        count(*) filter (where is_failed) as n_failed,
        count(distinct question_key) as n_asked

    from answers
    group by run_id, task_id

),

invalid_counts as (

    select
        run_id,
        task_id,
        count(*) as n_invalid

    from invalid_questions
    group by run_id, task_id

),

with_counts as (

    select
        runs.*,
        coalesce(rounds.n_rounds, 0) as n_rounds,
        rounds.last_test_index,
        rounds.dialogs_inserted,
        coalesce(answer_counts.n_answers, 0) as n_answers,
        coalesce(answer_counts.n_failed, 0) as n_failed,
        coalesce(answer_counts.n_asked, 0) as n_asked,
        coalesce(invalid_counts.n_invalid, 0) as n_invalid,
        -- Where the file does not count the valid ones: all but the listed invalid ones.
        coalesce(
            runs.valid_questions, runs.total_questions - coalesce(invalid_counts.n_invalid, 0)
        ) as n_valid

    from runs
    left join rounds using (run_id, task_id)
    left join answer_counts using (run_id, task_id)
    left join invalid_counts using (run_id, task_id)

),

final as (

    select

        ---------- ids
        run_id,
        task_id,
        load_id,

        ---------- strings
        dataset,
        run_timestamp,
        memory_system,
        test_threshold,

        ---------- numerics
        total_sessions,
        coalesce(total_dialogs, total_messages) as total_dialogs,
        dialogs_inserted,
        n_rounds,
        total_tests as n_rounds_reported,
        last_test_index,
        total_questions as n_questions,
        n_valid,
        n_invalid,
        n_asked,
        case
            when n_valid > n_asked then n_valid - n_asked
            when n_valid is not null then 0
        end as n_never_asked,
        n_answers,
        n_failed,

        ---------- timestamps
        started_at,

        ---------- json
        extras

    from with_counts

)

select * from final
