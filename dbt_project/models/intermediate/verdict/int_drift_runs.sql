{{ config(
    unique_key='task_id', meta={'batch': 'comparisons', 'mentions': ['run_task_id']}
) }}

with

tasks as (
    select * from {{ ref('promptlab', 'int_task_variants') }}
    where is_eligible
),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

numbered as (

    select
        *,
        row_number() over (partition by title, variant order by run_number, task_id) as number

    from tasks

),

numbers as (

    select
        numbered.task_id,
        numbered.title,
        numbered.variant,
        {{ unnested(whole_numbers(
            'greatest(1, numbered.number - policy.max_runs_drift + 1)', 'numbered.number + 1'
        )) }} as number

    from numbered
    cross join policy
    where numbered.number >= policy.min_runs_drift

),

runs as (

    select

        ---------- ids
        numbers.task_id,
        numbered.task_id as run_task_id,

        ---------- numerics
        numbers.number

    from numbers
    inner join numbered using (title, variant, number)

)

select * from runs
