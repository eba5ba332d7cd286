{{ config(materialized=view_of_step()) }}

with

dimensions as (select * from {{ ref('int_dimensions_resolved') }} where problem is not null),
rounds as (select * from {{ ref('int_rounds_prepared') }}),

scored as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        dimensions.dimension_id,
        cast(null as double) as metric,
        dimensions.problem as reason,
        cast(null as string) as expected,
        cast(null as string) as actual,
        {{ as_json("null") }} as detail

    from dimensions
    inner join rounds on dimensions.task_id = rounds.task_id

)

select * from scored
