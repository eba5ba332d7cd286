{{ config(materialized='table') }}

with

baselines as (select * from {{ ref('int_task_baselines') }}),

final as (

    select

        ---------- ids
        task_id,
        baseline_task_id,
        previous_task_id,
        named_task_id,

        ---------- strings
        baseline_source,
        matched_by,
        why_no_previous,

        ---------- booleans
        is_baseline_changed,

        ---------- timestamps
        baseline_set_at

    from baselines

)

select * from final
