with

reference_runs as (
    select * from {{ ref('promptlab', 'int_reference_runs') }}
    where {{ in_this_build('comparisons', 'task_id') }} and place = 1
),
tasks as (select * from {{ ref('promptlab', 'int_task_variants') }}),

-- a variant that did not change shows what model and judge did
tested as (

    select
        own.task_id,
        own.run_id,
        coalesce(own.prompt_hash = baselines.prompt_hash, false) as is_control

    from reference_runs
    inner join tasks as own using (task_id)
    inner join tasks as baselines on reference_runs.reference_task_id = baselines.task_id

),

counted as (

    select
        *,
        count(*) over of_run as n_variants,
        count(case when is_control then 1 end) over of_run as n_controls

    from tested
    window of_run as (partition by run_id)

),

-- all variants of a run are one test, and the unchanged among changed ones are another
tests as (

    select
        task_id,
        'all_variants' as treatment,
        concat_ws(chr(31), run_id, 'all') as test_id,
        n_variants

    from counted
    where n_variants > 1

    union all

    select
        task_id,
        'unchanged_variants' as treatment,
        concat_ws(chr(31), run_id, 'unchanged') as test_id,
        n_controls as n_variants

    from counted
    where is_control and n_controls < n_variants

)

select * from tests
