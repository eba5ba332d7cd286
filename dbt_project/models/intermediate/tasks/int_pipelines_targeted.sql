{{ config(materialized=view_of_step()) }}

-- One row per pipeline: the step whose output is its final output: the evaluation target that it
-- names, else its last step.
with

pipelines as (select * from {{ ref('promptlab', 'stg_pipelines__pipelines') }}),
steps as (select * from {{ ref('promptlab', 'stg_pipelines__pipeline_steps') }}),

candidates as (

    select
        pipelines.pipeline_id,
        steps.step_id,
        steps.output_key,
        row_number() over (
            partition by pipelines.pipeline_id
            order by
                case
                    when steps.step_id = pipelines.evaluation_target then 1
                    when steps.output_key = pipelines.evaluation_target then 2
                    else 3
                end,
                steps.step_position desc
        ) as choice,
        pipelines.evaluation_target is null
        or steps.step_id = pipelines.evaluation_target
        or steps.output_key = pipelines.evaluation_target as is_match

    from pipelines
    inner join steps using (pipeline_id)

),

targeted as (

    select
        pipelines.pipeline_id,
        -- a target that names no step may still be a key of the step outputs
        coalesce(pipelines.evaluation_target, candidates.step_id) as target_name,
        candidates.step_id as target_step_id,
        candidates.output_key as target_output_key

    from pipelines
    left join candidates
        on
            pipelines.pipeline_id = candidates.pipeline_id
            and candidates.choice = 1
            and candidates.is_match

)

select * from targeted
