-- One row per round without a usable answer: why (`error_code`): an error in its file, a required step
-- that failed, or `[ERROR]` in the answer's place.
with

rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }} where {{ in_this_build() }}),
tasks as (select * from {{ ref('promptlab', 'int_tasks_resolved') }} where {{ in_this_build() }}),
steps as (select * from {{ ref('promptlab', 'stg_pipelines__pipeline_steps') }}),

failed_steps as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        unnest(json_extract_string(rounds.failed_steps, '$[*]')) as step_id

    from rounds
    where {{ json_kind('rounds.failed_steps') }} = 'array'

),

failed_required_steps as (

    select
        failed_steps.task_id,
        failed_steps.case_id,
        failed_steps.round_id,
        min(failed_steps.step_id) as step_id

    from failed_steps
    inner join tasks using (task_id)
    left join steps
        on
            tasks.pipeline_id = steps.pipeline_id
            and failed_steps.step_id in (steps.step_id, steps.output_key)
    where coalesce(steps.is_required, true)
    group by failed_steps.task_id, failed_steps.case_id, failed_steps.round_id

),

reasons as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        coalesce(
            -- null, "", false and 0 mean "no error"
            {% for key in ['error_code', 'error'] %}
                case
                    when
                        cast(json_extract(rounds.metadata, '$.{{ key }}') as string)
                        not in ('null', '""', 'false', '0', '0.0')
                        then left(json_extract_string(rounds.metadata, '$.{{ key }}'), 500)
                end,
            {% endfor %}
            nullif(trim(rounds.error), ''),
            'failed_step: ' || failed_required_steps.step_id,
            case when rounds.judge_feedback like 'Pipeline 执行失败%' then 'pipeline_failed' end,
            case
                when
                    contains(rounds.raw_output, '[ERROR]')
                    and trim(rounds.raw_output) = '[ERROR]'
                    or cast(rounds.final_output as string) = '"[ERROR]"'
                    then 'error_answer'
            end
        ) as error_code

    from rounds
    left join failed_required_steps using (task_id, case_id, round_id)

),

failed as (

    select * from reasons
    where error_code is not null

)

select * from failed
