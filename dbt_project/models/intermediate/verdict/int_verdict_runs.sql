with

reference_runs as (
    select * from {{ ref('promptlab', 'int_reference_runs') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),
rounds as (select * from {{ ref('promptlab', 'int_rounds_counted') }} where k > 0),

used as (

    select distinct
        rounds.task_id,
        rounds.run_task_id as reference_task_id

    from rounds
    inner join rounds as own using (task_id, case_id)
    where rounds.place > 0 and own.place = 0

),

runs as (

    select

        ---------- ids
        reference_runs.task_id,
        reference_runs.reference_task_id,

        ---------- numerics
        reference_runs.tier

    from reference_runs
    inner join used using (task_id, reference_task_id)

)

select * from runs
