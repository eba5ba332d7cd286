{{ config(materialized=view_of_step()) }}

-- One row per round and dimension that is a measurement (time, tokens, cost and others), or that cannot be
-- scored at all.
with

dimensions as (
    select * from {{ ref('promptlab', 'int_dimensions_resolved') }}
    where
        problem is not null
        or scorer in (
            'latency', 'input_tokens', 'output_tokens', 'total_tokens', 'cost', 'length',
            'error_rate'
        )
),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),

measured as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        dimensions.dimension_id,
        dimensions.scorer,
        rounds.error_code,
        case dimensions.scorer
            when 'error_rate' then case when rounds.is_error then 1.0 else 0.0 end
            when 'latency' then rounds.answer_ms
            when 'input_tokens' then rounds.input_tokens
            when 'output_tokens' then rounds.output_tokens
            when 'total_tokens'
                then cast(rounds.input_tokens as double) + rounds.output_tokens
            when 'length' then length(rounds.answer)
            when 'cost' then coalesce(
                {{ json_number('rounds.metadata', 'cost') }},
                {{ json_number('rounds.metadata', 'cost_usd') }},
                (
                    rounds.input_tokens * dimensions.input_price_per_million
                    + rounds.output_tokens * dimensions.output_price_per_million
                ) / 1000000
            )
        end as measure,
        case
            when dimensions.problem is not null then dimensions.problem
            when rounds.is_error and dimensions.scorer <> 'error_rate' then 'error_round'
            when measure is null then 'not_measured'
        end as reason

    from dimensions
    inner join rounds using (task_id)

),

scored as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        case when reason is null then cast(measure as double) end as metric,
        reason,
        cast(null as string) as expected,
        case when reason is null and scorer = 'error_rate' then error_code end as actual,
        cast(null as json) as detail

    from measured

)

select * from scored
