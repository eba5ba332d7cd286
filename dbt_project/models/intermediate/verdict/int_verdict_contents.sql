with

reference_runs as (
    select * from {{ ref('promptlab', 'int_reference_runs') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),
tasks as (select * from {{ ref('promptlab', 'int_task_variants') }}),
yardsticks as (
    select * from {{ ref('promptlab', 'int_task_contents') }}
    where
        task_id in (select reference_runs.task_id from reference_runs)
        or task_id in (select reference_runs.reference_task_id from reference_runs)
),
contents as (
    select * from {{ ref('promptlab', 'int_case_contents') }}
    where
        task_id in (select reference_runs.task_id from reference_runs)
        or task_id in (select reference_runs.reference_task_id from reference_runs)
),

-- place 0 is the task itself, 1 its baseline
runs as (

    select
        reference_runs.task_id,
        reference_runs.reference_task_id as run_task_id,
        reference_runs.place

    from reference_runs
    cross join policy
    where reference_runs.tier <= policy.max_tier

    union all

    select distinct
        task_id,
        task_id as run_task_id,
        0 as place

    from reference_runs

),

-- the same case: asked the same, and judged by the same. Where the baseline was judged in
-- another way, that is a gap
same as (

    select

        ---------- ids
        runs.task_id,
        runs.run_task_id,
        run_contents.case_id,

        ---------- strings
        tasks.prompt_hash as prompt_version,

        ---------- numerics
        runs.place

    from runs
    inner join tasks on runs.run_task_id = tasks.task_id
    inner join contents as run_contents on runs.run_task_id = run_contents.task_id
    inner join contents as own_contents
        on
            runs.task_id = own_contents.task_id
            and run_contents.case_id = own_contents.case_id
            and run_contents.contents_hash = own_contents.contents_hash
    inner join yardsticks as own_yardsticks on runs.task_id = own_yardsticks.task_id
    inner join yardsticks as run_yardsticks on runs.run_task_id = run_yardsticks.task_id
    where
        runs.place <= 1
        or (
            own_contents.assertions_hash is not distinct from run_contents.assertions_hash
            and own_yardsticks.yardstick_hash
            is not distinct from run_yardsticks.yardstick_hash
        )

)

select * from same
