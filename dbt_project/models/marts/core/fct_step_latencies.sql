-- One row per task and step of its pipeline, or tool of its agent.
with

steps as (select * from {{ ref('promptlab', 'fct_steps') }} where {{ in_this_build() }}),
rounds as (select * from {{ ref('promptlab', 'fct_rounds') }} where {{ in_this_build() }}),

-- an answer that never came has no time and no length, one from a cache no time
numbers as (

    select
        steps.task_id,
        coalesce(steps.tool, steps.step_id) as step_id,
        case when not coalesce(rounds.is_cached, false) then steps.latency_ms end as latency_ms,
        steps.input_tokens,
        steps.output_tokens

    from steps
    inner join rounds using (task_id, case_id, round_id)
    where rounds.status <> 'error' and steps.step_id is not null

),

final as (

    select

        ---------- ids
        task_id,

        ---------- strings
        step_id,

        ---------- numerics
        count(latency_ms) as n_calls,
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
