{{ config(materialized='view') }}

with

answers as (select * from {{ ref('int_memory_answers_scored') }}),

final as (

    select

        ---------- ids
        run_id,
        task_id,
        test_index,
        question_index,
        question_key,

        ---------- strings
        category,
        question_text,
        predicted_answer,
        error,
        status,

        ---------- numerics
        exact_match,
        token_f1,
        locomo_f1,
        mem0_f1,
        contains_reference,
        right_score,

        ---------- booleans
        is_failed,
        has_reference,
        is_last_round,

        ---------- json
        reference_answer,
        evidence,
        extras

    from answers

)

select * from final
