with

answers as (
    select * from {{ ref('int_memory_answers_classified') }}
    where has_reference and not is_failed
),

-- A list of references: its elements are alternatives, and the best one counts.
alternatives as (

    select
        run_id,
        task_id,
        test_index,
        question_index,
        {{ tokens("coalesce(predicted_answer, '')") }} as answer_tokens,
        {{ mem0_words("coalesce(predicted_answer, '')") }} as answer_words,
        {{ unnested(json_text_elements('reference_texts')) }} as reference_text

    from answers

),

tokenised as (

    select
        run_id,
        task_id,
        test_index,
        question_index,
        answer_tokens,
        answer_words,
        {{ tokens('reference_text') }} as reference_tokens,
        {{ mem0_words('reference_text') }} as reference_words

    from alternatives

),

compared as (

    select
        run_id,
        task_id,
        test_index,
        question_index,
        {{ token_f1('answer_tokens', 'reference_tokens') }} as token_f1,
        answer_tokens = reference_tokens as is_same,
        {{ holds_in_one_piece('answer_tokens', 'reference_tokens') }} as is_held,
        {{ mem0_f1('answer_words', 'reference_words') }} as mem0_f1

    from tokenised

),

final as (

    select

        ---------- ids
        run_id,
        task_id,
        test_index,
        question_index,

        ---------- numerics
        max(token_f1) as token_f1,
        cast(max(case when is_same then 1 else 0 end) as double) as exact_match,
        cast(max(case when is_held then 1 else 0 end) as double) as contains_reference,
        max(mem0_f1) as mem0_f1

    from compared
    group by run_id, task_id, test_index, question_index

)

select * from final
