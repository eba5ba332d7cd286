-- One row per answer of a memory run that has a reference and did not fail: F1 over tokens and over
-- mem0's words, exact match, and containment, by the best of its references.
with

answers as (
    select * from {{ ref('promptlab', 'stg_memory__answers') }}
    where {{ in_this_build('memory_runs') }} and has_reference and not is_failed
),

-- The same questions are asked in every round of every run.
reference_lists as (

    select distinct reference_texts
    from answers

),

-- A list of references: its elements are alternatives, and the best one counts.
alternatives as (

    select
        reference_texts,
        unnest(json_extract_string(reference_texts, '$[*]')) as reference_text

    from reference_lists

),

tokenised_references as (

    select
        reference_texts,
        {{ tokens('reference_text') }} as reference_tokens,
        array_distinct({{ mem0_words('reference_text') }}) as reference_words

    from alternatives

),

tokenised_answers as (

    select
        run_id,
        task_id,
        test_index,
        question_index,
        reference_texts,
        {{ tokens("coalesce(predicted_answer, '')") }} as answer_tokens,
        {{ mem0_words("coalesce(predicted_answer, '')") }} as answer_words

    from answers

),

overlapping as (

    select
        tokenised_answers.*,
        tokenised_references.reference_tokens,
        tokenised_references.reference_words,
        {{ multiset_overlap('tokenised_answers.answer_tokens', 'tokenised_references.reference_tokens') }} as n_shared

    from tokenised_answers
    inner join tokenised_references using (reference_texts)

),

scored_pairs as (

    select
        run_id,
        task_id,
        test_index,
        question_index,
        {{ f1_of_counts('n_shared', 'len(answer_tokens)', 'len(reference_tokens)') }} as token_f1,
        answer_tokens = reference_tokens as is_same,
        case
            when n_shared < len(reference_tokens) then false
            when len(reference_tokens) = 0
                then len(answer_tokens) = 0
            else contains(
                ' ' || array_to_string(answer_tokens, ' ') || ' ',
                ' ' || array_to_string(reference_tokens, ' ') || ' '
            )
        end as is_held,
        {{ mem0_f1('answer_words', 'reference_words') }} as mem0_f1

    from overlapping

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

    from scored_pairs
    group by run_id, task_id, test_index, question_index

)

select * from final
