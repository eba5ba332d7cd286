-- One row per compared pair of tasks and name (a dimension or an assertion) that a judge of a tool
-- judged in both, but by another model, prompt or rubric.
with

pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),

tasks as (

    select baseline_task_id as task_id
    from pairs

    union

    select candidate_task_id as task_id
    from pairs

),

named_judges as (
    select * from {{ ref('promptlab', 'stg_reported__judges') }}
    where task_id in (select tasks.task_id from tasks)
),
checks as (
    select * from {{ ref('promptlab', 'stg_reported__checks') }}
    where
        task_id in (select tasks.task_id from tasks)
        and check_name in (select named_judges.judged_name from named_judges)
),

-- a check whose judge the file does not name was judged by the default of its tool
unnamed as (

    select distinct
        checks.task_id,
        checks.check_name as judged_name

    from checks
    left join named_judges
        on checks.task_id = named_judges.task_id and checks.check_name = named_judges.judged_name
    where named_judges.task_id is null

),

judges as (

    select
        task_id,
        judged_name,
        judge_model,
        template,
        rubric

    from named_judges

    union all

    select
        task_id,
        judged_name,
        null as judge_model,
        null as template,
        null as rubric

    from unnamed

),

-- a rubric is not known where cases have different ones: their checks tell them apart
changes as (

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        of_candidates.judged_name

    from pairs
    inner join judges as of_baselines on pairs.baseline_task_id = of_baselines.task_id
    inner join judges as of_candidates
        on
            pairs.candidate_task_id = of_candidates.task_id
            and of_baselines.judged_name = of_candidates.judged_name
    where
        of_baselines.judge_model is distinct from of_candidates.judge_model
        or of_baselines.template is distinct from of_candidates.template
        or of_baselines.rubric <> of_candidates.rubric

)

select * from changes
