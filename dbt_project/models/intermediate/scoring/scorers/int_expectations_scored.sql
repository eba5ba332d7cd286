{{ config(materialized=view_of_step()) }}

with

dimensions as (
    select * from {{ ref('int_dimensions_resolved') }}
    where scorer = 'expectations' and problem is null
),
rounds as (select * from {{ ref('int_rounds_prepared') }}),
matches as (select * from {{ ref('int_match_results') }}),

counted as (

    select
        task_id,
        case_id,
        round_id,
        count(matched) as n_evaluated,
        count(*) filter (where matched) as n_matched

    from matches
    group by task_id, case_id, round_id

),

scored as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        dimensions.dimension_id,
        case
            when counted.n_evaluated > 0 and rounds.is_error then 0.0
            when counted.n_evaluated > 0
                then cast(counted.n_matched as double) / counted.n_evaluated
        end as metric,
        case
            when rounds.testset_id is null then 'no_testset'
            when counted.n_evaluated is null then 'nothing_expected'
            when counted.n_evaluated = 0 then 'invalid_pattern'
            when rounds.is_error then 'error_round'
        end as reason,
        cast(null as string) as expected,
        cast(null as string) as actual,
        {{ as_json("null") }} as detail

    from dimensions
    inner join rounds using (task_id)
    left join counted
        on
            rounds.task_id = counted.task_id
            and rounds.case_id = counted.case_id
            and rounds.round_id = counted.round_id

)

select * from scored
