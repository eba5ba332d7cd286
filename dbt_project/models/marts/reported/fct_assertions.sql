{{ config(materialized='view') }}

-- One row per round and assertion: a check of its testset, or one of the tool that wrote the file.
with

own_checks as (select * from {{ ref('promptlab', 'fct_check_results') }}),
reported_checks as (select * from {{ ref('promptlab', 'int_reported_checks') }}),

own as (

    select
        task_id,
        case_id,
        round_id,
        'testset' as assertion_source,
        check_no as assertion_no,
        cast(null as bigint) as parent_no,
        concat_ws(
            ' ',
            scope,
            step_id,
            -- left out where the pointer begins with it
            case
                when coalesce(left(pointer, length(field) + 1), '') <> concat('/', field)
                    then field
            end,
            nullif(pointer, '')
        ) as assertion_name,
        matcher as assertion_type,
        status,
        reason,
        expected,
        cast(null as double) as score,
        cast(null as double) as weight,
        cast(null as double) as threshold

    from own_checks

),

reported as (

    select
        task_id,
        case_id,
        round_id,
        'tool' as assertion_source,
        check_position as assertion_no,
        parent_position as parent_no,
        check_name as assertion_name,
        check_type as assertion_type,
        status,
        coalesce(error, reason) as reason,
        cast(expected as string) as expected,
        score,
        weight,
        threshold

    from reported_checks

),

assertions as (

    select * from own

    union all

    select * from reported

)

select * from assertions
