{{ config(
    unique_key='task_id', meta={'batch': 'comparisons', 'mentions': ['reference_task_id']}
) }}

with

tasks as (select * from {{ ref('promptlab', 'int_task_variants') }}),
baselines as (
    select * from {{ ref('promptlab', 'int_task_baselines') }}
    where baseline_task_id is not null
),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

-- a run that the gate refused is not a reference of later ones
counted as (

    select
        *,
        is_eligible and is_accepted as is_reference,
        count(case when is_eligible and is_accepted then 1 end) over (
            partition by title, variant order by run_number
            range between unbounded preceding and 1 preceding
        ) as n_before

    from tasks
    where recheck_of is null

),

places as (

    select
        counted.task_id,
        counted.title,
        counted.variant,
        {{ unnested(whole_numbers(
            'greatest(1, counted.n_before - policy.max_runs + 1)', 'counted.n_before + 1'
        )) }} as place

    from counted
    inner join baselines using (task_id)
    cross join policy

),

chosen as (

    select
        places.task_id,
        counted.task_id as reference_task_id

    from places
    inner join counted
        on
            places.title = counted.title
            and places.variant = counted.variant
            and places.place = counted.n_before + 1
            and counted.is_reference
    inner join baselines on places.task_id = baselines.task_id
    inner join tasks as baseline_tasks on baselines.baseline_task_id = baseline_tasks.task_id
    -- who names a baseline accepts it: earlier runs may be better
    where
        baselines.baseline_source is distinct from 'named'
        or counted.run_number >= baseline_tasks.run_number

    union distinct

    select
        task_id,
        baseline_task_id as reference_task_id

    from baselines

),

runs as (

    select

        ---------- ids
        chosen.task_id,
        chosen.reference_task_id,

        ---------- numerics
        case
            when reference_tasks.prompt_hash = baseline_tasks.prompt_hash then 1
            else 2
        end as tier,
        row_number() over (
            partition by chosen.task_id
            order by
                case when chosen.reference_task_id = baselines.baseline_task_id then 0 else 1 end,
                reference_tasks.run_number desc,
                chosen.reference_task_id desc
        ) as place

    from chosen
    inner join baselines using (task_id)
    inner join tasks as baseline_tasks on baselines.baseline_task_id = baseline_tasks.task_id
    inner join tasks as reference_tasks on chosen.reference_task_id = reference_tasks.task_id

)

select * from runs
