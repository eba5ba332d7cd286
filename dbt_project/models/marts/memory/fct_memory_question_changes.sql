{{ config(unique_key='candidate_run_id') }}

with

questions as (select * from {{ ref('int_memory_questions_compared') }} where is_right_metric),

final as (

    select

        ---------- ids
        questions.baseline_run_id,
        questions.candidate_run_id,
        questions.task_id,
        questions.question_key,

        ---------- strings
        questions.metric,
        questions.category,
        questions.change,
        questions.reason,
        questions.baseline_status,
        questions.candidate_status,
        questions.status_change,

        ---------- numerics
        questions.baseline_score,
        questions.candidate_score,
        questions.delta,

        ---------- booleans
        questions.is_comparable

    from questions

)

select * from final
