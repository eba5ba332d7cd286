-- One row per round, ready to be scored: its answer as text and as JSON, its step outputs, its time
-- and tokens, and the testset and pipeline of its task.
with

rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }} where {{ in_this_build() }}),
tasks as (select * from {{ ref('promptlab', 'int_tasks_resolved') }} where {{ in_this_build() }}),
pipelines as (select * from {{ ref('promptlab', 'int_pipelines_targeted') }}),
failed as (select * from {{ ref('promptlab', 'int_rounds_failed') }}),

-- `metadata.step_outputs` where there is one, else the parsed output stands in
stepped as (

    select
        rounds.*,
        tasks.source_kind,
        tasks.testset_id,
        tasks.pipeline_id,
        pipelines.target_name,
        pipelines.target_step_id,
        pipelines.target_output_key,
        failed.error_code,
        nullif(json_extract(rounds.metadata, '$.step_outputs'), 'null') as metadata_step_outputs,
        coalesce(rounds.step_outputs, metadata_step_outputs, rounds.parsed_output)
            as all_step_outputs,
        coalesce(rounds.step_outputs, metadata_step_outputs) is not null as has_own_step_outputs

    from rounds
    inner join tasks using (task_id)
    left join pipelines using (pipeline_id)
    left join failed using (task_id, case_id, round_id)

),

-- the key of the step output that is the final output
targeted as (

    select
        *,
        case
            when pipeline_id is not null
                then case
                    when {{ step_output('all_step_outputs', 'target_name') }} is not null
                        then target_name
                    when {{ step_output('all_step_outputs', 'target_output_key') }} is not null
                        then target_output_key
                    when {{ step_output('all_step_outputs', 'target_step_id') }} is not null
                        then target_step_id
                end
            when has_own_step_outputs and {{ json_kind('all_step_outputs') }} = 'object'
                then list_extract(
                    list_filter(json_keys(all_step_outputs), lambda k: left(k, 1) <> '_'), -1
                )
        end as target_key

    from stepped

),

final_outputs as (

    select
        *,
        case when cast(final_output as string) <> 'null' then final_output end
            as given_final_output,
        {{ json_member('all_step_outputs', 'target_key') }} as target_output

    from targeted

),

prepared as (

    select

        ---------- ids
        task_id,
        case_id,
        round_id,
        load_id,
        testset_id,
        pipeline_id,

        ---------- strings
        source_kind,
        case
            when given_final_output is not null then 'final_output'
            when target_output is not null then 'evaluation_target:' || target_key
            when parsed_output is not null then 'parsed_output'
            when raw_output is not null then 'raw_output'
        end as final_source,
        coalesce(
            raw_output,
            {{ json_as_text("coalesce(given_final_output, target_output, parsed_output)") }}
        ) as answer,
        case when length(answer) > 2000 then md5(answer) end as answer_hash,
        case
            when pipeline_id is null then target_key
            else coalesce(target_output_key, target_name)
        end as target_output_key,
        error_code,
        judge_feedback,

        ---------- numerics
        run_index,
        latency_ms,
        -- an answer read from a cache took no time of the model
        case when not coalesce(is_cached, false) then latency_ms end as answer_ms,
        input_tokens,
        output_tokens,
        overall_score / 10 as judge_score,

        ---------- booleans
        error_code is not null as is_error,
        reported_must_have_pass,
        is_cached,

        ---------- timestamps
        executed_at,

        ---------- json
        parsed_output,
        all_step_outputs as step_outputs,
        coalesce(given_final_output, target_output, parsed_output, to_json(raw_output))
            as final_output,
        failed_steps,
        rule_violations,
        metadata

    from final_outputs

)

select * from prepared
