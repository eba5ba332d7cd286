{{ config(materialized=view_of_step()) }}

with

runs as (
    select * from {{ ref('promptlab', 'int_recheck_runs') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),
sides as (
    select repeated_task_id as task_id from runs
    union
    select recheck_task_id from runs
),
dimensions as (
    select * from {{ ref('promptlab', 'int_dimension_contents') }}
    where task_id in (select sides.task_id from sides)
),
judge_changes as (select * from {{ ref('promptlab', 'int_judge_changes') }}),
contents as (
    select * from {{ ref('promptlab', 'int_case_contents') }}
    where task_id in (select sides.task_id from sides)
),
case_results as (
    select * from {{ ref('promptlab', 'int_case_results') }}
    where task_id in (select sides.task_id from sides)
),
case_scores as (
    select * from {{ ref('promptlab', 'int_case_scores') }}
    where score is not null and task_id in (select sides.task_id from sides)
),

repeated as (

    select distinct
        repeated_task_id,
        recheck_task_id

    from runs

),

-- the dimensions that judged the task
judging as (

    select
        repeated.*,
        of_tasks.dimension_id,
        of_rechecks.task_id is not null
        and (
            {{ dimension_difference('of_rechecks', 'of_tasks') }} is not null
            or of_tasks.weight_configured > 0 and of_rechecks.weight_configured = 0
            or of_tasks.has_verdict and not of_rechecks.has_verdict
        ) as is_changed

    from repeated
    inner join dimensions as of_tasks on repeated.repeated_task_id = of_tasks.task_id
    left join dimensions as of_rechecks
        on
            repeated.recheck_task_id = of_rechecks.task_id
            and of_tasks.dimension_id = of_rechecks.dimension_id
    where of_tasks.weight_configured > 0 or of_tasks.has_verdict

),

judged_otherwise as (

    select
        repeated_task_id,
        recheck_task_id

    from judging
    where is_changed

    union

    select
        repeated.repeated_task_id,
        repeated.recheck_task_id

    from repeated
    inner join judge_changes
        on
            repeated.repeated_task_id = judge_changes.baseline_task_id
            and repeated.recheck_task_id = judge_changes.candidate_task_id

),

gaps as (

    select
        judged_otherwise.repeated_task_id,
        judged_otherwise.recheck_task_id,
        case_results.case_id

    from judged_otherwise
    inner join case_results on judged_otherwise.recheck_task_id = case_results.task_id

    union

    -- an answer that passes weaker assertions says nothing about those of the run
    select
        repeated.repeated_task_id,
        repeated.recheck_task_id,
        of_rechecks.case_id

    from repeated
    inner join contents as of_tasks on repeated.repeated_task_id = of_tasks.task_id
    inner join contents as of_rechecks
        on
            repeated.recheck_task_id = of_rechecks.task_id
            and of_tasks.case_id = of_rechecks.case_id
    where of_tasks.assertions_hash is distinct from of_rechecks.assertions_hash

    union

    -- nor does one whose must-haves were judged less often
    select
        repeated.repeated_task_id,
        repeated.recheck_task_id,
        of_rechecks.case_id

    from repeated
    inner join case_results as of_tasks on repeated.repeated_task_id = of_tasks.task_id
    inner join case_results as of_rechecks
        on
            repeated.recheck_task_id = of_rechecks.task_id
            and of_tasks.case_id = of_rechecks.case_id
    where of_rechecks.must_haves_per_answer < of_tasks.must_haves_per_answer

    union

    -- nor one that was not judged; an error is not an answer
    select
        judging.repeated_task_id,
        judging.recheck_task_id,
        case_results.case_id

    from judging
    inner join case_scores as of_tasks
        on
            judging.repeated_task_id = of_tasks.task_id
            and judging.dimension_id = of_tasks.dimension_id
    inner join case_results
        on
            judging.recheck_task_id = case_results.task_id
            and of_tasks.case_id = case_results.case_id
    left join case_scores as of_rechecks
        on
            judging.recheck_task_id = of_rechecks.task_id
            and judging.dimension_id = of_rechecks.dimension_id
            and of_tasks.case_id = of_rechecks.case_id
    where of_rechecks.task_id is null and case_results.n_rounds > case_results.n_rounds_in_error

)

select * from gaps
