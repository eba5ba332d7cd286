{{ config(materialized='view') }}

with

rounds as (select * from {{ ref('stg_tasks__rounds') }}),

final as (

    select

        ---------- ids
        task_id,
        case_id,
        round_id,

        ---------- strings
        judge_feedback,

        ---------- json
        coalesce(step_outputs, {{ json_field('metadata', 'step_outputs') }}) as step_outputs,
        metadata

    from rounds

)

select * from final
