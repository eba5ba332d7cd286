{{ config(
    unique_key='task_id', meta={'batch': 'comparisons', 'mentions': ['step_task_id']}
) }}

with

trends as (select * from {{ ref('promptlab', 'int_drift_trends') }}),
cases as (select * from {{ ref('promptlab', 'int_drift_cases') }}),
p_values as (
    select * from {{ ref('promptlab', 'int_verdict_p_values') }}
    where treatment like 'since_%'
),
tasks as (select * from {{ ref('promptlab', 'int_task_variants') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

steps as (

    select
        task_id,
        cast(replace(treatment, 'since_', '') as bigint) as first_run,
        p_uncalibrated as p

    from p_values

),

sides as (

    select
        cases.task_id,
        cases.measure,
        steps.first_run,
        steps.p,
        count(distinct cases.case_id) as n_cases,
        max(case when cases.run_number = steps.first_run then cases.run_task_id end)
            as step_task_id,
        max(case when cases.run_number = 1 then cases.run_task_id end) as first_task_id,
        {{ exact_mean('case when cases.run_number = 1 then cases.value end') }} as value_first,
        {{ exact_mean(
            'case when cases.run_number < steps.first_run then cases.value end'
        ) }} as value_before,
        {{ exact_mean(
            'case when cases.run_number >= steps.first_run then cases.value end'
        ) }} as value_after,
        {{ exact_mean(
            'case when cases.run_number = steps.first_run then cases.value end'
        ) }} as value_of_step,
        {{ exact_mean(
            'case when cases.run_number <= steps.first_run then cases.value end'
        ) }} as value_until_step

    from cases
    left join steps using (task_id)
    group by cases.task_id, cases.measure, steps.first_run, steps.p

),

-- The test needs two runs after a step. If the first of the last two is closer to the runs
-- before it, the newest run alone fell.
placed as (

    select
        trends.*,
        sides.n_cases,
        sides.p,
        sides.first_task_id,
        sides.value_first,
        coalesce(
            sides.first_run = trends.n_runs - 1
            and abs(sides.value_of_step - sides.value_before)
            < abs(sides.value_of_step - trends.value),
            false
        ) as is_newest,
        case when is_newest then trends.task_id else sides.step_task_id end as step_task_id,
        case when is_newest then sides.value_until_step else sides.value_before end
            as value_before,
        case when is_newest then trends.value else sides.value_after end as value_after

    from trends
    inner join sides using (task_id, measure)

),

joined as (

    select
        placed.*,
        tasks.title,
        tasks.variant,
        step_tasks.created_at as step_at,
        first_tasks.created_at as first_at,
        -- as many tests as there are places for a step
        case when placed.p is not null then least(1e0, (placed.n_runs - 3) * placed.p) end
            as p_step,
        policy.false_alarm

    from placed
    inner join tasks on placed.task_id = tasks.task_id
    left join tasks as step_tasks on placed.step_task_id = step_tasks.task_id
    left join tasks as first_tasks on placed.first_task_id = first_tasks.task_id
    cross join policy

),

final as (

    select

        ---------- ids
        task_id,
        step_task_id,

        ---------- strings
        title,
        variant,
        measure,

        ---------- numerics
        n_runs,
        n_cases,
        {{ rounded('(n_rises - n_falls) / (n_runs * (n_runs - 1) / 2e0)') }} as tau,
        p_decline,
        p_rise,
        {{ rounded('p_step', 9) }} as p_step,
        {{ rounded('value_first') }} as value_first,
        {{ rounded('value') }} as value,
        {{ rounded('value_before') }} as value_before,
        {{ rounded('value_after') }} as value_after,
        {{ rounded('value_after - value_before') }} as change,

        ---------- booleans
        p_decline <= false_alarm as is_declining,
        p_rise <= false_alarm as is_rising,
        coalesce(
            {{ rounded('p_step', 9) }} <= false_alarm
            and {{ rounded('value') }} < {{ rounded('value_before') }},
            false
        ) as is_step,

        ---------- timestamps
        step_at,
        first_at

    from joined

)

select * from final
