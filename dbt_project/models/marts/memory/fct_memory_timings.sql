-- One row per memory run, operation (insert or retrieve) and stage of it.
with

timings as (
    select * from {{ ref('promptlab', 'stg_memory__timings') }}
    where {{ in_this_build('memory_runs') }}
),
listed as (select * from timings where grain = 'detail'),

calls as (

    select
        run_id,
        task_id,
        operation,
        stage,
        duration_ms
    from listed

    union all

    -- the total of a call adds up its stages
    select
        run_id,
        task_id,
        operation,
        'total' as stage,
        sum(duration_ms) as duration_ms
    from listed
    group by run_id, task_id, operation, timing_position

),

detailed as (

    select
        run_id,
        operation,
        stage,
        count(*) as n_calls,
        count(distinct task_id) as n_tasks,
        sum(duration_ms) as sum_ms,
        min(duration_ms) as min_ms,
        percentile_cont(0.5) within group (order by duration_ms) as p50_ms,
        percentile_cont(0.9) within group (order by duration_ms) as p90_ms,
        percentile_cont(0.95) within group (order by duration_ms) as p95_ms,
        percentile_cont(0.99) within group (order by duration_ms) as p99_ms,
        max(duration_ms) as max_ms

    from calls
    group by run_id, operation, stage

),

-- A summary speaks only for a task that lists no calls of the stage.
only_summarised as (

    select timings.*
    from timings
    left join calls using (run_id, task_id, operation, stage)
    where
        timings.grain = 'summary'
        and timings.n_measured > 0
        and timings.duration_ms is not null
        and calls.run_id is null

),

summarised as (

    select
        run_id,
        operation,
        stage,
        cast(sum(n_measured) as bigint) as n_calls,
        count(distinct task_id) as n_tasks,
        sum(n_measured * duration_ms) as sum_ms,
        min(min_ms) as min_ms,
        max(max_ms) as max_ms

    from only_summarised
    group by run_id, operation, stage

),

joined as (

    select
        run_id,
        operation,
        stage,
        coalesce(detailed.n_calls, 0) as n_detailed,
        coalesce(detailed.n_calls, 0) + coalesce(summarised.n_calls, 0) as n_calls,
        coalesce(detailed.n_tasks, 0) + coalesce(summarised.n_tasks, 0) as n_tasks,
        coalesce(detailed.sum_ms, 0) + coalesce(summarised.sum_ms, 0) as sum_ms,
        least(
            coalesce(detailed.min_ms, summarised.min_ms),
            coalesce(summarised.min_ms, detailed.min_ms)
        ) as min_ms,
        greatest(
            coalesce(detailed.max_ms, summarised.max_ms),
            coalesce(summarised.max_ms, detailed.max_ms)
        ) as max_ms,
        detailed.p50_ms,
        detailed.p90_ms,
        detailed.p95_ms,
        detailed.p99_ms

    from detailed
    full outer join summarised using (run_id, operation, stage)

),

final as (

    select

        ---------- ids
        run_id,
        operation,
        stage,

        ---------- numerics
        n_tasks,
        n_calls,
        n_detailed,
        round(sum_ms, 3) as sum_ms,
        round(sum_ms / n_calls, 3) as mean_ms,
        round(min_ms, 3) as min_ms,
        -- Quantiles of some of the calls are not those of all.
        case when n_detailed = n_calls then round(p50_ms, 3) end as p50_ms,
        case when n_detailed = n_calls then round(p90_ms, 3) end as p90_ms,
        case when n_detailed = n_calls then round(p95_ms, 3) end as p95_ms,
        case when n_detailed = n_calls then round(p99_ms, 3) end as p99_ms,
        round(max_ms, 3) as max_ms

    from joined

)

select * from final
