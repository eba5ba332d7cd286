{{ config(materialized=view_of_step()) }}

with

checks as (

    select * from {{ ref('int_golden_checks_judged') }}

),

by_golden_answer as (

    select
        task_id,
        dimension_id,
        case_id,
        round_id,
        golden_no,
        bool_or(is_error) as is_error,
        max(miss) as miss

    from checks
    group by task_id, dimension_id, case_id, round_id, golden_no

),

scored as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        max(case
            when golden_no is null or miss = 1 then null
            when is_error or miss = 2 then 0.0
            else 1.0
        end) as metric,
        case
            when count(golden_no) = 0 then 'no_baseline'
            when min(miss) = 1 and max(miss) = 1 then 'invalid_pattern'
            when bool_or(is_error) then 'error_round'
        end as reason,
        cast(null as string) as expected,
        cast(null as string) as actual,
        {{ as_json("null") }} as detail

    from by_golden_answer
    group by task_id, case_id, round_id, dimension_id

)

select * from scored
