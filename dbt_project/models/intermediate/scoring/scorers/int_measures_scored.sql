{{ config(materialized=view_of_step()) }}

with

dimensions as (
    select * from {{ ref('int_dimensions_resolved') }}
    where
        scorer in ('latency', 'input_tokens', 'output_tokens', 'total_tokens', 'cost', 'length')
        and problem is null
),
rounds as (select * from {{ ref('int_rounds_prepared') }}),

measured as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        dimensions.dimension_id,
        rounds.is_error,
        case dimensions.scorer
            when 'latency' then rounds.latency_ms
            when 'input_tokens' then rounds.input_tokens
            when 'output_tokens' then rounds.output_tokens
            when 'total_tokens' then rounds.input_tokens + rounds.output_tokens
            when 'length' then length(rounds.answer)
            when 'cost' then coalesce(
                {{ json_number('rounds.metadata', 'cost') }},
                {{ json_number('rounds.metadata', 'cost_usd') }},
                (
                    rounds.input_tokens * dimensions.input_price_per_million
                    + rounds.output_tokens * dimensions.output_price_per_million
                ) / 1000000
            )
        end as measure

    from dimensions
    inner join rounds on dimensions.task_id = rounds.task_id

),

scored as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        case when not is_error then cast(measure as double) end as metric,
        case
            when is_error then 'error_round'
            when measure is null then 'not_measured'
        end as reason,
        cast(null as string) as expected,
        cast(null as string) as actual,
        {{ as_json("null") }} as detail

    from measured

)

select * from scored
