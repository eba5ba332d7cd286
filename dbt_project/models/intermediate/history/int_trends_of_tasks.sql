{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

with

results as (select * from {{ ref('int_task_results') }}),
rounds as (select * from {{ ref('int_round_results') }}),
dimensions as (select * from {{ ref('int_dimensions_resolved') }}),
round_scores as (select * from {{ ref('int_round_scores') }}),
measures as (select * from {{ ref('trend_measures') }} where subject_kind = 'task'),
tasks as (
    select * from {{ ref('stg_tasks__tasks') }}
    where {{ in_this_build() }} and source_kind not in ('analysis', 'results')
),
reported_rounds as (
    select * from {{ ref('stg_tasks__rounds') }}
    where task_id in (select tasks.task_id from tasks)
),

-- of several cost dimensions the first
cost_dimensions as (

    select
        task_id,
        min_by(dimension_id, dimension_position) as dimension_id

    from dimensions
    where scorer = 'cost'
    group by task_id

),

scored_costs as (

    select
        round_scores.task_id,
        avg(round_scores.metric) as cost_mean,
        sum(round_scores.metric) as cost_total,
        count(round_scores.metric) as n_costs

    from round_scores
    inner join cost_dimensions using (task_id, dimension_id)
    group by round_scores.task_id

),

-- what a tool says of its rounds; a cached answer repeats the cost of the first
reported_costs as (

    select
        task_id,
        avg(cost) as cost_mean,
        sum(cost) as cost_total,
        count(cost) as n_costs

    from (
        select
            task_id,
            case
                when coalesce(is_cached, false) then 0e0
                else {{ json_number('metadata', 'cost') }}
            end as cost

        from reported_rounds
        where {{ json_number('metadata', 'cost') }} is not null
    ) as costed
    group by task_id

),

costs as (

    select * from scored_costs

    union all

    select * from reported_costs
    where task_id not in (select scored_costs.task_id from scored_costs)

),

-- an answer that never came has no time and no length
answered as (

    select
        task_id,
        percentile_cont(0.5) within group (order by latency_ms) as latency_p50,
        percentile_cont(0.95) within group (order by latency_ms) as latency_p95,
        count(latency_ms) as n_latencies,
        avg(input_tokens) as input_tokens_mean,
        count(input_tokens) as n_inputs,
        avg(output_tokens) as output_tokens_mean,
        count(output_tokens) as n_outputs

    from rounds
    where status <> 'error'
    group by task_id

),

counted as (

    select
        task_id,
        count(*) filter (where status = 'error') as n_errors,
        sum(cast(input_tokens as double) + output_tokens) as tokens_total,
        count(cast(input_tokens as double) + output_tokens) as n_tokens

    from rounds
    group by task_id

),

wide as (

    select
        results.*,
        results.n_pass + results.n_fail + results.n_error as n_judged,
        cast(counted.n_errors as double) / results.n_rounds as error_share,
        counted.tokens_total,
        counted.n_tokens,
        answered.latency_p50,
        answered.latency_p95,
        answered.n_latencies,
        answered.input_tokens_mean,
        answered.n_inputs,
        answered.output_tokens_mean,
        answered.n_outputs,
        costs.cost_mean,
        costs.cost_total,
        costs.n_costs

    from results
    left join counted using (task_id)
    left join answered using (task_id)
    left join costs using (task_id)

),

numbers as (

    select

        ---------- ids
        wide.task_id,

        ---------- strings
        measures.measure,

        ---------- numerics
        case measures.measure
            when 'overall_score' then wide.overall_score
            when 'pass_rate' then wide.pass_rate
            when 'coverage' then wide.coverage
            when 'error_share' then wide.error_share
            when 'latency_p50' then wide.latency_p50
            when 'latency_p95' then wide.latency_p95
            when 'input_tokens_mean' then wide.input_tokens_mean
            when 'output_tokens_mean' then wide.output_tokens_mean
            when 'tokens_total' then wide.tokens_total
            when 'cost_mean' then wide.cost_mean
            when 'cost_total' then wide.cost_total
        end as value,
        case
            when measures.measure = 'overall_score' then wide.ci_low
            when measures.measure = 'pass_rate' and wide.n_judged > 0
                then {{ wilson_bound('wide.pass_rate', 'wide.n_judged', -1) }}
        end as ci_low,
        case
            when measures.measure = 'overall_score' then wide.ci_high
            when measures.measure = 'pass_rate' and wide.n_judged > 0
                then {{ wilson_bound('wide.pass_rate', 'wide.n_judged', 1) }}
        end as ci_high,
        case measures.measure
            when 'overall_score' then wide.n_cases
            when 'pass_rate' then wide.n_judged
            when 'coverage' then wide.n_rounds
            when 'error_share' then wide.n_rounds
            when 'latency_p50' then wide.n_latencies
            when 'latency_p95' then wide.n_latencies
            when 'input_tokens_mean' then wide.n_inputs
            when 'output_tokens_mean' then wide.n_outputs
            when 'tokens_total' then wide.n_tokens
            when 'cost_mean' then wide.n_costs
            when 'cost_total' then wide.n_costs
        end as n

    from wide
    cross join measures

)

select * from numbers
