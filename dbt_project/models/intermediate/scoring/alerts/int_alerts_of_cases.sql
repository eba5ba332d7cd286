{{ config(materialized=view_of_step()) }}

-- One row per task, alert (`code`), dimension and reason: the number of its cases, and the first 50. It is about cases
-- missing in the file or in its testset, rejected, without a reference, or not judgeable (int_cases_concerned).
with

concerned as (select * from {{ ref('promptlab', 'int_cases_concerned') }}),
tasks as (select * from {{ ref('promptlab', 'int_tasks_resolved') }} where {{ in_this_build() }}),
cases as (select * from {{ ref('promptlab', 'stg_tasks__cases') }} where {{ in_this_build() }}),
test_cases as (select * from {{ ref('promptlab', 'stg_testsets__test_cases') }}),

case_totals as (

    select
        task_id,
        count(*) as n_cases

    from cases
    group by task_id

),

testset_totals as (

    select
        testset_id,
        count(*) as n_cases

    from test_cases
    group by testset_id

),

listed as (

    select
        task_id,
        code,
        dimension_id,
        reason,
        count(*) as n,
        {{ json_list_of('case_id', 'case_id', at_most=50) }} as case_ids

    from concerned
    group by task_id, code, dimension_id, reason

),

alerts as (

    select
        listed.task_id,
        listed.dimension_id,
        listed.code,
        cast(null as double) as value,
        cast(null as double) as limit_value,
        cast(null as string) as unit,
        listed.n,
        case
            when listed.code = 'testset_case_missing' then testset_totals.n_cases
            when listed.code = 'rejected_case' then coalesce(case_totals.n_cases, 0) + listed.n
            else case_totals.n_cases
        end as n_total,
        listed.reason,
        case
            when listed.code in ('case_not_in_testset', 'testset_case_missing')
                then tasks.testset_id
        end as detail,
        -- what is counted are cases; of other alerts `n` may count rounds
        listed.n as n_cases,
        listed.case_ids

    from listed
    inner join tasks using (task_id)
    left join case_totals using (task_id)
    left join testset_totals on tasks.testset_id = testset_totals.testset_id

)

select * from alerts
