{{ config(materialized=view_of_step()) }}

-- One row per round whose cost is known: as its file says, else its tokens times the prices of its model.
with

rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),
measures as (select * from {{ ref('promptlab', 'int_measures_scored') }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }} where scorer = 'cost'),
prices as (select * from {{ ref('promptlab', 'int_task_prices') }} where {{ in_this_build() }}),

-- of several cost dimensions the first
cost_dimensions as (

    select
        task_id,
        min_by(dimension_id, dimension_position) as dimension_id

    from dimensions
    group by task_id

),

scored as (

    select measures.*
    from measures
    inner join cost_dimensions using (task_id, dimension_id)

),

known as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        rounds.is_cached,
        coalesce(
            scored.metric,
            {{ json_number('rounds.metadata', 'cost') }},
            {{ json_number('rounds.metadata', 'cost_usd') }}
        ) as given_cost,
        (
            rounds.input_tokens * prices.input_price + rounds.output_tokens * prices.output_price
        ) / 1e6 as price_of_tokens

    from rounds
    left join scored using (task_id, case_id, round_id)
    left join prices on rounds.task_id = prices.task_id

),

costs as (

    select

        ---------- ids
        task_id,
        case_id,
        round_id,

        ---------- numerics
        -- a cached answer repeats the cost of the first
        case
            when coalesce(is_cached, false) then 0e0
            else coalesce(given_cost, price_of_tokens)
        end as cost

    from known
    where coalesce(given_cost, price_of_tokens) is not null

)

select * from costs
