-- One row per round with metadata or a comment of a judge.
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
        metadata

    from rounds
    where judge_feedback is not null or cast(metadata as string) <> '{}'

)

select * from final
