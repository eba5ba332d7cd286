{{ config(materialized=view_of_step()) }}

-- One row per round and dimension with the scorer `keywords`: the share of required keywords in the answer.
with

dimensions as (
    select * from {{ ref('promptlab', 'int_dimensions_resolved') }}
    where scorer = 'keywords' and problem is null
),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),

keyword_counts as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        dimensions.dimension_id,
        rounds.answer,
        rounds.is_error,
        coalesce(len(dimensions.must), 0) as n_must,
        len(list_filter(dimensions.must, lambda k: contains(rounds.answer, k))) as n_found,
        list_extract(
            list_filter(dimensions.must, lambda k: not contains(rounds.answer, k)), 1
        ) as missing_keyword,
        list_extract(
            list_filter(dimensions.must_not, lambda k: contains(rounds.answer, k)), 1
        ) as forbidden_keyword

    from dimensions
    inner join rounds using (task_id)

),

scored as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        case
            when is_error then 0.0
            when answer is null then null
            when forbidden_keyword is not null then 0.0
            when n_must = 0 then 1.0
            else cast(n_found as double) / n_must
        end as metric,
        case
            when is_error then 'error_round'
            when answer is null then 'no_answer'
        end as reason,
        missing_keyword as expected,
        cast(null as string) as actual,
        case
            when forbidden_keyword is not null
                then json_object('highlight', forbidden_keyword)
        end as detail

    from keyword_counts

)

select * from scored
