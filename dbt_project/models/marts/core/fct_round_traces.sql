with

rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }} where {{ in_this_build() }}),

final as (

    select

        ---------- ids
        task_id,
        case_id,
        round_id,

        ---------- strings
        judge_feedback,

        ---------- json
        coalesce(step_outputs, nullif(json_extract(metadata, '$.step_outputs'), 'null')) as step_outputs,
        metadata

    from rounds
    where
        judge_feedback is not null
        or step_outputs is not null
        or cast(metadata as string) <> '{}'

)

select * from final
