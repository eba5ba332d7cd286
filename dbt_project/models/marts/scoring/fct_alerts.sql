{{ config(materialized='view') }}

-- One row per task and alert: about the task alone, or against its baseline task.
with

alerts as (

    select * from {{ ref('promptlab', 'int_task_alerts') }}

    union all

    -- those that look at the task's baseline
    select * from {{ ref('promptlab', 'int_alerts_of_history') }}

),

final as (

    select

        ---------- ids
        task_id,

        ---------- strings
        code,
        severity,

        ---------- numerics
        cast(row_number() over (
            partition by task_id
            order by severity_rank, dimension_position nulls last, code, facts
        ) as bigint) as alert_position,
        n_cases,

        ---------- json
        dimension_ids,
        case_ids,
        facts

    from alerts

)

select * from final
