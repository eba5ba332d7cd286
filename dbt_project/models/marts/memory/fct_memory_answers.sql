{{ config(materialized='view') }}

-- One row per answer of a memory run: by conversation (`task_id`), round (`test_index`) and question.
with

answers as (select * from {{ ref('promptlab', 'int_memory_answers_scored') }}),

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
        {% for metric in fromjson(memory_metrics()) %}
            {{ metric }},
        {% endfor %}
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
