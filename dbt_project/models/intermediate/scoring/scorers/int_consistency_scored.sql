-- One row per round and dimension with the scorer `consistency`: the share of the other rounds of the case
-- with the same answer.
with

dimensions as (
    select * from {{ ref('promptlab', 'int_dimensions_resolved') }}
    where scorer = 'consistency' and problem is null
),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),

-- a parsed output never equals a text
answers as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        dimensions.dimension_id,
        dimensions.compare,
        rounds.is_error,
        case
            when rounds.is_error then null
            when dimensions.compare = 'parsed' and rounds.parsed_output is not null
                then 'json ' || cast(rounds.parsed_output as string)
            else 'text ' || rounds.answer
        end as answer_text,
        md5(answer_text) as answer_hash

    from dimensions
    inner join rounds using (task_id)

),

different_answers as (

    select
        task_id,
        case_id,
        dimension_id,
        answer_hash,
        max(compare) as compare,
        max(answer_text) as answer_text,
        count(*) as n_rounds,
        -- equal JSON has as many of each letter, however keys are ordered and numbers written: a
        -- few are counted, and the bytes of those beyond ASCII
        concat_ws(
            ' ',
            bit_length(max(answer_text)) - 8 * length(max(answer_text)),
            bit_length(replace(max(answer_text), 'a', '')) - bit_length(max(answer_text)),
            bit_length(replace(max(answer_text), 'n', '')) - bit_length(max(answer_text))
        ) as letters

    from answers
    where answer_text is not null
    group by task_id, case_id, dimension_id, answer_hash

),

cases as (

    select
        task_id,
        case_id,
        dimension_id,
        cast(sum(n_rounds) as bigint) as n_measured,
        count(*) as n_different,
        max(contains(answer_text, chr(92))) as has_escapes

    from different_answers
    group by task_id, case_id, dimension_id

),

answers_alike as (

    select
        task_id,
        case_id,
        dimension_id,
        letters

    from different_answers
    group by task_id, case_id, dimension_id, letters
    having count(*) > 1

),

-- key order makes no difference; to look past it costs time, and is done only where answers
-- may be equal: they have the same letters, or escapes hide letters
canonical_answers as (

    select
        different_answers.*,
        cases.n_measured,
        case
            when
                left(different_answers.answer_text, 5) = 'json '
                and (
                    answers_alike.task_id is not null
                    or (cases.has_escapes and cases.n_different > 1)
                )
                then md5({{ canonical_json('substr(different_answers.answer_text, 6)') }})
            else different_answers.answer_hash
        end as canonical_hash

    from different_answers
    inner join cases using (task_id, case_id, dimension_id)
    left join answers_alike using (task_id, case_id, dimension_id, letters)

),

groups as (

    select
        task_id,
        case_id,
        dimension_id,
        canonical_hash,
        max(compare) as compare,
        cast(sum(n_rounds) as bigint) as n_equal,
        case when max(compare) = 'token_f1' then {{ tokens('substr(max(answer_text), 6)') }} end
            as answer_tokens

    from canonical_answers
    group by task_id, case_id, dimension_id, canonical_hash

),

-- the F1 to every round that gave another answer, added up
likenesses as (

    select
        ours.task_id,
        ours.case_id,
        ours.dimension_id,
        ours.canonical_hash,
        {{ exact_sum(
            'theirs.n_equal * ' ~ token_f1('ours.answer_tokens', 'theirs.answer_tokens')
        ) }} as likeness

    from groups as ours
    inner join groups as theirs using (task_id, case_id, dimension_id)
    where ours.compare = 'token_f1' and ours.canonical_hash <> theirs.canonical_hash
    group by ours.task_id, ours.case_id, ours.dimension_id, ours.canonical_hash

),

agreements as (

    select
        canonical_answers.task_id,
        canonical_answers.case_id,
        canonical_answers.dimension_id,
        canonical_answers.answer_hash,
        canonical_answers.n_measured - 1 as n_others,
        groups.n_equal - 1 as n_agreeing,
        cast(groups.n_equal - 1 + coalesce(likenesses.likeness, 0) as double) as agreement

    from canonical_answers
    inner join groups using (task_id, case_id, dimension_id, canonical_hash)
    left join likenesses using (task_id, case_id, dimension_id, canonical_hash)

),

scored as (

    select
        answers.task_id,
        answers.case_id,
        answers.round_id,
        answers.dimension_id,
        case
            when agreements.n_others > 0
                then agreements.agreement / agreements.n_others
        end as metric,
        case
            when answers.is_error then 'error_round'
            when answers.answer_text is null then 'no_answer'
            when agreements.n_others = 0 then 'single_round'
        end as reason,
        cast(null as string) as expected,
        cast(null as string) as actual,
        case
            when agreements.n_agreeing < agreements.n_others then json_object(
                'rounds_agreeing', agreements.n_agreeing,
                'rounds_compared', agreements.n_others
            )
        end as detail

    from answers
    left join agreements using (task_id, case_id, dimension_id, answer_hash)

)

select * from scored
