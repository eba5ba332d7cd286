with

runs as (
    select * from {{ ref('promptlab', 'int_drift_runs') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),
yardsticks as (
    select * from {{ ref('promptlab', 'int_task_contents') }}
    where task_id in (select runs.run_task_id from runs)
),
case_results as (
    select * from {{ ref('promptlab', 'int_case_results') }}
    where task_id in (select runs.run_task_id from runs)
),
contents as (
    select * from {{ ref('promptlab', 'int_case_contents') }}
    where task_id in (select runs.run_task_id from runs)
),

-- the same case: asked the same, and judged by the same
shared as (

    select
        runs.task_id,
        runs.run_task_id,
        runs.number,
        own_contents.case_id,
        case_results.n_rounds > case_results.n_rounds_in_error as is_answered

    from runs
    inner join contents as own_contents using (task_id)
    inner join yardsticks as own_yardsticks using (task_id)
    inner join yardsticks as run_yardsticks on runs.run_task_id = run_yardsticks.task_id
    inner join contents as run_contents
        on
            runs.run_task_id = run_contents.task_id
            and own_contents.case_id = run_contents.case_id
            and own_contents.contents_hash = run_contents.contents_hash
            and own_contents.assertions_hash is not distinct from run_contents.assertions_hash
    inner join case_results
        on
            runs.run_task_id = case_results.task_id
            and own_contents.case_id = case_results.case_id
    where
        own_yardsticks.yardstick_hash is not distinct from run_yardsticks.yardstick_hash

),

-- a run of other cases, or of errors, is not an earlier state of this suite
counted as (

    select
        task_id,
        run_task_id,
        number,
        count(*) filter (where is_answered) as n_cases,
        max(count(*) filter (where is_answered)) over (partition by task_id) as n_cases_newest

    from shared
    group by task_id, run_task_id, number

),

kept as (

    select
        counted.task_id,
        counted.run_task_id,
        row_number() over (
            partition by counted.task_id order by counted.number
        ) as run_number,
        count(*) over (partition by counted.task_id) as n_runs,
        bool_or(counted.run_task_id = counted.task_id) over (partition by counted.task_id)
            as has_newest,
        policy.min_runs_drift

    from counted
    cross join policy
    where counted.n_cases >= policy.min_share_drift * counted.n_cases_newest

),

shared_by_kept as (

    select

        ---------- ids
        kept.task_id,
        kept.run_task_id,
        shared.case_id,

        ---------- numerics
        kept.run_number,
        kept.n_runs

    from kept
    inner join shared using (task_id, run_task_id)
    where kept.n_runs >= kept.min_runs_drift and kept.has_newest

)

select * from shared_by_kept
