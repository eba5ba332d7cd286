-- The numbers of a whole task, one row per task and measure.
with

summaries as (

    select * from {{ ref('fct_task_summaries') }}

),

rounds as (

    select * from {{ ref('fct_rounds') }}

),

dimensions as (

    select * from {{ ref('int_dimensions_resolved') }}

),

round_scores as (

    select * from {{ ref('fct_round_scores') }}

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

costs as (

    select
        round_scores.task_id,
        avg(round_scores.metric) as cost_mean,
        sum(round_scores.metric) as cost_total,
        count(round_scores.metric) as n

    from round_scores
    inner join cost_dimensions
        on
            round_scores.task_id = cost_dimensions.task_id
            and round_scores.dimension_id = cost_dimensions.dimension_id
    group by round_scores.task_id

),

measured as (

    select
        task_id,
        count(*) as n_rounds,
        count(*) filter (where status = 'error') as n_errors,
        -- an answer that never came has no time and no length
        percentile_cont(0.5) within group (order by latency_ms)
        filter (where status <> 'error') as latency_p50,
        percentile_cont(0.95) within group (order by latency_ms)
        filter (where status <> 'error') as latency_p95,
        count(latency_ms) filter (where status <> 'error') as n_latencies,
        avg(input_tokens) filter (where status <> 'error') as input_tokens_mean,
        count(input_tokens) filter (where status <> 'error') as n_inputs,
        avg(output_tokens) filter (where status <> 'error') as output_tokens_mean,
        count(output_tokens) filter (where status <> 'error') as n_outputs,
        sum(input_tokens + output_tokens) as tokens_total,
        count(input_tokens + output_tokens) as n_counted

    from rounds
    group by task_id

),

judged as (

    select
        *,
        n_pass + n_fail + n_error as n_judged

    from summaries

),

numbers as (

    select
        task_id, 'overall_score' as measure, overall_score as value,
        ci_low, ci_high, n_cases as n
    from summaries

    union all

    select
        task_id, 'pass_rate' as measure, pass_rate as value,
        case when n_judged > 0 then {{ wilson_bound('pass_rate', 'n_judged', -1) }} end as ci_low,
        case when n_judged > 0 then {{ wilson_bound('pass_rate', 'n_judged', 1) }} end as ci_high,
        n_judged as n
    from judged

    union all

    select
        task_id, 'coverage' as measure, coverage as value,
        null as ci_low, null as ci_high, n_rounds as n
    from summaries

    union all

    select
        task_id, 'error_share' as measure, cast(n_errors as double) / n_rounds as value,
        null as ci_low, null as ci_high, n_rounds as n
    from measured

    {%- for measure, count in [
        ('latency_p50', 'n_latencies'), ('latency_p95', 'n_latencies'),
        ('input_tokens_mean', 'n_inputs'), ('output_tokens_mean', 'n_outputs'),
        ('tokens_total', 'n_counted'),
    ] %}

    union all

    select
        task_id, '{{ measure }}' as measure, {{ measure }} as value,
        null as ci_low, null as ci_high, {{ count }} as n
    from measured
    {%- endfor %}

    {%- for measure in ['cost_mean', 'cost_total'] %}

    union all

    select
        task_id, '{{ measure }}' as measure, {{ measure }} as value,
        null as ci_low, null as ci_high, n
    from costs
    {%- endfor %}

)

select * from numbers
