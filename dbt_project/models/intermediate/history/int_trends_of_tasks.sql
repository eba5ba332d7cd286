{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per task and measure (pass rate, latency, cost and others): the number, its interval, and
-- how many cases or rounds it is of. fct_trends follows it from run to run.
with

results as (select * from {{ ref('promptlab', 'int_task_results') }}),
case_results as (
    select * from {{ ref('promptlab', 'int_case_results') }}
    where status <> 'unevaluated' and {{ in_this_build() }}
),
cases as (select * from {{ ref('promptlab', 'stg_tasks__cases') }} where {{ in_this_build() }}),
rounds as (select * from {{ ref('promptlab', 'int_round_results') }}),
measures as (select * from {{ ref('promptlab', 'promptlab_trend_measures') }} where subject_kind = 'task'),

passes as (

    select
        case_results.task_id,
        cases.cluster_id,
        case when case_results.status = 'pass' then 1e0 else 0e0 end as is_pass

    from case_results
    inner join cases using (task_id, case_id)

),

clusters as (

    {{ cluster_errors('passes', 'task_id', 'is_pass') | indent(4) }}
    having count(*) < max(n_all)

),

-- an answer that never came has no time and no length
answered_rounds as (

    select
        task_id,
        percentile_cont(0.5) within group (order by answer_ms) as latency_p50,
        percentile_cont(0.95) within group (order by answer_ms) as latency_p95,
        count(answer_ms) as n_latencies,
        avg(input_tokens) as input_tokens_mean,
        count(input_tokens) as n_inputs,
        avg(output_tokens) as output_tokens_mean,
        count(output_tokens) as n_outputs,
        avg(answer_chars) as answer_chars_mean,
        count(answer_chars) as n_answers

    from rounds
    where status <> 'error'
    group by task_id

),

all_rounds as (

    select
        task_id,
        count(*) filter (where status = 'error') as n_errors,
        sum(cast(input_tokens as double) + output_tokens) as tokens_total,
        count(cast(input_tokens as double) + output_tokens) as n_tokens,
        avg(cost) as cost_mean,
        sum(cost) as cost_total,
        count(cost) as n_costs

    from rounds
    group by task_id

),

joined as (

    select
        results.*,
        results.n_pass + results.n_fail + results.n_error as n_judged,
        cast(all_rounds.n_errors as double) / results.n_rounds as error_share,
        all_rounds.tokens_total,
        all_rounds.n_tokens,
        answered_rounds.latency_p50,
        answered_rounds.latency_p95,
        answered_rounds.n_latencies,
        answered_rounds.input_tokens_mean,
        answered_rounds.n_inputs,
        answered_rounds.output_tokens_mean,
        answered_rounds.n_outputs,
        answered_rounds.answer_chars_mean,
        answered_rounds.n_answers,
        all_rounds.cost_mean,
        all_rounds.cost_total,
        all_rounds.n_costs

    from results
    left join all_rounds using (task_id)
    left join answered_rounds using (task_id)

),

numbers as (

    select

        ---------- ids
        joined.task_id,

        ---------- strings
        measures.measure,

        ---------- numerics
        case measures.measure
            when 'overall_score' then joined.overall_score
            when 'pass_rate' then joined.pass_rate
            when 'coverage' then joined.coverage
            when 'error_share' then joined.error_share
            when 'latency_p50' then joined.latency_p50
            when 'latency_p95' then joined.latency_p95
            when 'input_tokens_mean' then joined.input_tokens_mean
            when 'output_tokens_mean' then joined.output_tokens_mean
            when 'answer_chars_mean' then joined.answer_chars_mean
            when 'tokens_total' then joined.tokens_total
            when 'cost_mean' then joined.cost_mean
            when 'cost_total' then joined.cost_total
            when 'cost_per_pass' then joined.cost_total / nullif(joined.n_pass, 0)
        end as value,
        case
            when measures.measure = 'overall_score' then joined.ci_low
            when measures.measure = 'pass_rate' and joined.n_judged > 0
                then {{ pass_rate_bound('joined.pass_rate', 'joined.n_judged', 'clusters', -1) }}
        end as ci_low,
        case
            when measures.measure = 'overall_score' then joined.ci_high
            when measures.measure = 'pass_rate' and joined.n_judged > 0
                then {{ pass_rate_bound('joined.pass_rate', 'joined.n_judged', 'clusters', 1) }}
        end as ci_high,
        case measures.measure
            when 'overall_score' then joined.n_cases
            when 'pass_rate' then joined.n_judged
            when 'coverage' then joined.n_rounds
            when 'error_share' then joined.n_rounds
            when 'latency_p50' then joined.n_latencies
            when 'latency_p95' then joined.n_latencies
            when 'input_tokens_mean' then joined.n_inputs
            when 'output_tokens_mean' then joined.n_outputs
            when 'answer_chars_mean' then joined.n_answers
            when 'tokens_total' then joined.n_tokens
            when 'cost_mean' then joined.n_costs
            when 'cost_total' then joined.n_costs
            when 'cost_per_pass' then joined.n_pass
        end as n

    from joined
    cross join measures
    left join clusters on joined.task_id = clusters.task_id

)

select * from numbers
