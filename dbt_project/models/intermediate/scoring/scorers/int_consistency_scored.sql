{{ config(materialized='view') }}

-- The share of the case's other measured rounds that a round agrees with. Rounds with
-- equal answers are counted by their groups; only token_f1 compares pairs, of the
-- different answers within one case.
with

dimensions as (

    select * from {{ ref('int_dimensions_resolved') }}
    where scorer = 'consistency' and problem is null

),

rounds as (

    select * from {{ ref('int_rounds_prepared') }}

),

answers as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        dimensions.dimension_id,
        dimensions.compare,
        rounds.is_error,
        rounds.answer,
        case
            when dimensions.compare = 'parsed' then cast(rounds.parsed_output as varchar)
        end as document,
        not rounds.is_error
        and (rounds.answer is not null or document is not null) as is_measured,
        case when is_measured then min(document) over in_case <> max(document) over in_case end
            as is_mixed

    from dimensions
    inner join rounds on dimensions.task_id = rounds.task_id
    window in_case as (partition by rounds.task_id, rounds.case_id, dimensions.dimension_id)

),

-- a parsed output never equals a text; key order is no difference
keyed as (

    select
        *,
        case
            when not is_measured then null
            when document is null then 'text ' || answer
            when is_mixed then 'json ' || {{ canonical_json('document') }}
            else 'json'
        end as answer_key

    from answers

),

grouped as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        compare,
        is_error,
        answer_key,
        count(answer_key) over (partition by task_id, case_id, dimension_id) as n_measured,
        count(answer_key) over (
            partition by task_id, case_id, dimension_id, answer_key
        ) as n_equal

    from keyed

),

different_answers as (

    select
        task_id,
        case_id,
        dimension_id,
        answer_key,
        max(n_equal) as n_equal,
        {{ tokens('substr(answer_key, 6)') }} as answer_tokens

    from grouped
    where compare = 'token_f1' and answer_key is not null
    group by task_id, case_id, dimension_id, answer_key

),

-- the F1 to every other round that gave another answer, added up
likenesses as (

    select
        ours.task_id,
        ours.case_id,
        ours.dimension_id,
        ours.answer_key,
        {{ exact_sum(
            'theirs.n_equal * ' ~ token_f1('ours.answer_tokens', 'theirs.answer_tokens')
        ) }} as likeness

    from different_answers as ours
    inner join different_answers as theirs
        on
            ours.task_id = theirs.task_id
            and ours.case_id = theirs.case_id
            and ours.dimension_id = theirs.dimension_id
            and ours.answer_key <> theirs.answer_key
    group by ours.task_id, ours.case_id, ours.dimension_id, ours.answer_key

),

scored as (

    select
        grouped.task_id,
        grouped.case_id,
        grouped.round_id,
        grouped.dimension_id,
        case
            when grouped.answer_key is not null and grouped.n_measured > 1
                then round(
                    (grouped.n_equal - 1 + coalesce(likenesses.likeness, 0.0))
                    / cast(grouped.n_measured - 1 as double),
                    6
                )
        end as metric,
        case
            when grouped.is_error then 'error_round'
            when grouped.answer_key is null then 'no_answer'
            when grouped.n_measured = 1 then 'single_round'
        end as reason,
        cast(null as varchar) as expected,
        cast(null as varchar) as actual,
        case
            when grouped.n_equal < grouped.n_measured then {{ json_object_of({
                'rounds_agreeing': 'grouped.n_equal - 1',
                'rounds_compared': 'grouped.n_measured - 1',
            }) }}
        end as detail

    from grouped
    left join likenesses
        on
            grouped.task_id = likenesses.task_id
            and grouped.case_id = likenesses.case_id
            and grouped.dimension_id = likenesses.dimension_id
            and grouped.answer_key = likenesses.answer_key

)

select * from scored
