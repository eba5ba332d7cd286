-- What a case was asked and judged by, as hashes: pairs with other contents say nothing
-- about the system under test. Of the baselines only those count that score an answer.
with

cases as (

    select * from {{ ref('dim_cases') }}

),

tasks as (

    select * from {{ ref('int_tasks_resolved') }}

),

test_cases as (

    select * from {{ ref('stg_testsets__test_cases') }}

),

baselines as (

    select * from {{ ref('stg_tasks__baselines') }}
    where baseline_type in ('golden_answer', 'rules')

),

references_written as (

    select
        task_id,
        case_id,
        baseline_type || ' ' || {{ canonical_json('payload') }} as reference

    from baselines

),

references_joined as (

    select
        task_id,
        case_id,
        md5(string_agg(reference, chr(10) order by reference)) as references_hash

    from references_written
    group by task_id, case_id

),

parts as (

    select
        cases.task_id,
        cases.case_id,
        md5({{ canonical_json('cases.context') }}) as inputs_hash,
        test_cases.content_hash as expectations_hash,
        references_joined.references_hash

    from cases
    inner join tasks on cases.task_id = tasks.task_id
    left join test_cases
        on tasks.testset_id = test_cases.testset_id and cases.case_id = test_cases.case_id
    left join references_joined
        on
            cases.task_id = references_joined.task_id
            and cases.case_id = references_joined.case_id

),

hashed as (

    select
        *,
        md5(concat_ws(' ', inputs_hash, coalesce(expectations_hash, '-'), references_hash))
            as contents_hash

    from parts

)

select * from hashed
