{{ config(materialized=view_of_step()) }}

-- One row per name that a task may call a testset by: its id, or the last part of its id; `testset_id` is null where
-- several testsets have that last part and none that id.
with

testsets as (select * from {{ ref('promptlab', 'stg_testsets__testsets') }}),

calls as (

    select
        testset_id,
        testset_id as called,
        true as is_id

    from testsets

    union all

    select
        testset_id,
        split_part(testset_id, '/', -1) as called,
        false as is_id

    from testsets
    where testset_id <> split_part(testset_id, '/', -1)

),

testset_names as (

    select
        called,
        case
            when bool_or(is_id) then max(case when is_id then testset_id end)
            when count(*) = 1 then max(testset_id)
        end as testset_id

    from calls
    group by called

)

select * from testset_names
