{{ config(
    unique_key='task_id', meta={'batch': 'comparisons', 'mentions': ['reference_task_id']}
) }}

with

tasks as (select * from {{ ref('int_task_variants') }}),
baselines as (
    select * from {{ ref('int_task_baselines') }}
    where baseline_task_id is not null
),
policy as (select * from {{ ref('verdict_policy') }}),

-- a run that the gate refused is not a reference of later ones
counted as (

    select
        *,
        count(case when is_eligible and is_accepted then 1 end) over (
            partition by title, variant order by run_number
            range between unbounded preceding and 1 preceding
        ) as n_before

    from tasks
    where recheck_of is null

),

-- of runs that were refused one after the other the last
numbered as (

    select
        *,
        max(run_number) over (
            partition by title, variant, n_before, is_eligible, is_accepted
        ) as last_alike

    from counted

),

places as (

    select
        counted.task_id,
        counted.title,
        counted.variant,
        counted.n_before,
        {{ unnested(whole_numbers(
            'greatest(1, counted.n_before - policy.max_runs + 1)', 'counted.n_before + 1'
        )) }} as place

    from counted
    inner join baselines using (task_id)
    cross join policy

),

-- a run that was refused before one that was not is no break that stays: it shows how far runs
-- differ
chosen as (

    select
        places.task_id,
        numbered.task_id as reference_task_id,
        not numbered.is_accepted as is_refused

    from places
    inner join numbered
        on
            places.title = numbered.title
            and places.variant = numbered.variant
            and places.place = numbered.n_before + case when numbered.is_accepted then 1 else 0 end
            and numbered.is_eligible
    inner join baselines on places.task_id = baselines.task_id
    inner join tasks as baseline_tasks on baselines.baseline_task_id = baseline_tasks.task_id
    where
        numbered.task_id <> baseline_tasks.task_id
        and (
            numbered.is_accepted
            or (numbered.run_number = numbered.last_alike and places.place < places.n_before)
        )
        -- who names a baseline accepts it: earlier runs may be better
        and (
            baselines.baseline_source is distinct from 'named'
            or numbered.run_number >= baseline_tasks.run_number
        )

    union all

    select
        task_id,
        baseline_task_id as reference_task_id,
        false as is_refused

    from baselines

),

placed as (

    select
        chosen.task_id,
        chosen.reference_task_id,
        chosen.is_refused,
        case
            when reference_tasks.prompt_hash = baseline_tasks.prompt_hash then 1
            else 2
        end as tier,
        row_number() over (
            partition by chosen.task_id, chosen.is_refused
            order by
                case when chosen.reference_task_id = baselines.baseline_task_id then 0 else 1 end,
                reference_tasks.run_number desc,
                chosen.reference_task_id desc
        ) as place

    from chosen
    inner join baselines using (task_id)
    inner join tasks as baseline_tasks on baselines.baseline_task_id = baseline_tasks.task_id
    inner join tasks as reference_tasks on chosen.reference_task_id = reference_tasks.task_id

),

runs as (

    select

        ---------- ids
        task_id,
        reference_task_id,

        ---------- numerics
        tier,
        case when is_refused then -place else place end as place

    from placed

)

select * from runs
