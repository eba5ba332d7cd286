{{ config(materialized=view_of_step()) }}

with

dimensions as (
    select * from {{ ref('int_dimensions_resolved') }}
    where scorer = 'error_rate' and problem is null
),
rounds as (select * from {{ ref('int_rounds_prepared') }}),

scored as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        dimensions.dimension_id,
        {{ one_or_zero('rounds.is_error') }} as metric,
        cast(null as string) as reason,
        cast(null as string) as expected,
        rounds.error_code as actual,
        {{ as_json("null") }} as detail

    from dimensions
    inner join rounds on dimensions.task_id = rounds.task_id

)

select * from scored
