{{ config(materialized='view') }}

with

checks as (select * from {{ ref('int_check_results') }}),

final as (

    select

        ---------- ids
        task_id,
        case_id,
        round_id,
        scope,
        step_id,
        field,
        check_no,

        ---------- strings
        pointer,
        matcher,
        expected,
        actual,
        status,
        reason,
        actual_source

    from checks

)

select * from final
