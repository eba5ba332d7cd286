-- One row per answer of a memory run that LoCoMo's published F1 can score, which is not in category 5:
-- the F1 over stems of words, of the best alternative of its reference.
with

answers as (
    select * from {{ ref('promptlab', 'stg_memory__answers') }}
    where
        {{ in_this_build('memory_runs') }}
        and reference_stems is not null
        and answer_stems is not null
        and not is_failed
),

-- The same questions are asked in every round of every run.
reference_forms as (

    select distinct reference_stems
    from answers

),

-- Reading ingest's form from the outside in: alternatives of the reference, and their
-- parts. Most references have one of each.
alternatives as (

    select
        reference_stems,
        unnest(json_extract(reference_stems, '$[*]')) as alternative,
        unnest(range(cast(json_array_length(reference_stems) as bigint))) as alternative_no

    from reference_forms

),

reference_parts as (

    select
        reference_stems,
        alternative_no,
        unnest(json_extract_string(alternative, '$[*]')) as reference_part,
        unnest(range(cast(json_array_length(alternative) as bigint))) as part_no

    from alternatives

),

tokenised_references as (

    select
        reference_stems,
        alternative_no,
        part_no,
        {{ words('reference_part') }} as reference_tokens

    from reference_parts

),

answer_parts as (

    select
        run_id,
        task_id,
        test_index,
        question_index,
        reference_stems,
        unnest(json_extract_string(answer_stems, '$[*]')) as answer_part

    from answers

),

tokenised_answers as (

    select
        *,
        {{ words('answer_part') }} as answer_tokens

    from answer_parts

),

part_overlaps as (

    select
        tokenised_answers.run_id,
        tokenised_answers.task_id,
        tokenised_answers.test_index,
        tokenised_answers.question_index,
        tokenised_references.alternative_no,
        tokenised_references.part_no,
        {{ multiset_overlap('tokenised_answers.answer_tokens', 'tokenised_references.reference_tokens') }} as n_shared,
        len(tokenised_answers.answer_tokens)
        + len(tokenised_references.reference_tokens) as n_tokens

    from tokenised_answers
    inner join tokenised_references using (reference_stems)

),

-- As published: nothing shared is 0, also when both sides are empty.
best_part as (

    select
        run_id,
        task_id,
        test_index,
        question_index,
        alternative_no,
        part_no,
        max(case when n_shared = 0 then 0e0 else 2e0 * n_shared / n_tokens end) as f1

    from part_overlaps
    group by run_id, task_id, test_index, question_index, alternative_no, part_no

),

by_alternative as (

    select
        run_id,
        task_id,
        test_index,
        question_index,
        alternative_no,
        avg(f1) as f1

    from best_part
    group by run_id, task_id, test_index, question_index, alternative_no

),

final as (

    select

        ---------- ids
        run_id,
        task_id,
        test_index,
        question_index,

        ---------- numerics
        round(max(f1), 6) as locomo_f1

    from by_alternative
    group by run_id, task_id, test_index, question_index

)

select * from final
