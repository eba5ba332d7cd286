with

tasks as (
    select * from {{ ref('promptlab', 'stg_tasks__tasks') }}
    where {{ in_this_build() }} and source_kind not in ('analysis', 'results')
),
rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }} where {{ in_this_build() }}),
checks as (select * from {{ ref('promptlab', 'stg_reported__checks') }} where {{ in_this_build() }}),

counted_rounds as (

    select
        task_id,
        count(*) as n_rounds,
        count(distinct case_id) as n_cases,
        count(case when coalesce(counted_as, reported_status) = 'pass' then 1 end) as n_pass,
        count(case when coalesce(counted_as, reported_status) = 'fail' then 1 end) as n_fail,
        count(case when reported_status = 'error' then 1 end) as n_error,
        {{ sum_in_order('latency_ms') }} as sum_latency_ms,
        {{ sum_in_order(json_number('metadata', 'cost')) }} as sum_cost,
        cast(sum(input_tokens) as double) as sum_input_tokens,
        cast(sum(output_tokens) as double) as sum_output_tokens,
        sum(
            coalesce(
                {{ json_number('metadata', 'total_tokens') }},
                cast(input_tokens as double) + output_tokens
            )
        ) as sum_total_tokens

    from rounds
    group by task_id

),

counted_checks as (

    select
        task_id,
        count(case when status = 'pass' then 1 end) as n_checks_passed,
        count(case when status <> 'pass' then 1 end) as n_checks_failed

    from checks
    group by task_id

),

summed as (

    select
        tasks.task_id,
        tasks.run_id,
        tasks.load_id,
        coalesce(counted_rounds.n_rounds, 0) as n_rounds,
        coalesce(counted_rounds.n_cases, 0) as n_cases,
        coalesce(counted_rounds.n_pass, 0) as n_pass,
        coalesce(counted_rounds.n_fail, 0) as n_fail,
        coalesce(counted_rounds.n_error, 0) as n_error,
        coalesce(counted_checks.n_checks_passed, 0) as n_checks_passed,
        coalesce(counted_checks.n_checks_failed, 0) as n_checks_failed,
        counted_rounds.sum_latency_ms,
        counted_rounds.sum_cost,
        counted_rounds.sum_input_tokens,
        counted_rounds.sum_output_tokens,
        counted_rounds.sum_total_tokens

    from tasks
    left join counted_rounds using (task_id)
    left join counted_checks using (task_id)

)

select * from summed
