{{ config(unique_key='task_id', meta={'batch': 'tasks'}) }}

with

traces as (select * from {{ ref('promptlab', 'fct_round_traces') }} where {{ in_this_build() }}),
rounds as (select * from {{ ref('promptlab', 'fct_rounds') }} where {{ in_this_build() }}),

-- an answer that never came has no time and no length, one from a cache no time
answered as (

    select
        traces.task_id,
        coalesce(rounds.is_cached, false) as is_cached,
        nullif(json_extract(traces.metadata, '$.steps'), 'null') as steps

    from traces
    inner join rounds using (task_id, case_id, round_id)
    where rounds.status <> 'error'

),

named as (

    select
        task_id,
        is_cached,
        steps,
        unnest(json_keys(steps)) as step_id

    from answered
    where {{ json_kind('steps') }} = 'object'

),

measured as (

    select
        task_id,
        is_cached,
        step_id,
        {{ json_member('steps', 'step_id') }} as figures

    from named

),

numbers as (

    select
        task_id,
        step_id,
        case when not is_cached then {{ json_number('figures', 'latency_ms') }} end as latency_ms,
        {{ json_number('figures', 'input_tokens') }} as input_tokens,
        {{ json_number('figures', 'output_tokens') }} as output_tokens

    from measured

),

final as (

    select

        ---------- ids
        task_id,

        ---------- strings
        step_id,

        ---------- numerics
        count(latency_ms) as n_rounds,
        round(avg(latency_ms), 6) as latency_mean,
        round(percentile_cont(0.5) within group (order by latency_ms), 6) as latency_p50,
        round(percentile_cont(0.9) within group (order by latency_ms), 6) as latency_p90,
        round(percentile_cont(0.95) within group (order by latency_ms), 6) as latency_p95,
        round(percentile_cont(0.99) within group (order by latency_ms), 6) as latency_p99,
        round(avg(input_tokens), 6) as input_tokens_mean,
        round(avg(output_tokens), 6) as output_tokens_mean

    from numbers
    group by task_id, step_id
    having count(latency_ms) > 0

)

select * from final
