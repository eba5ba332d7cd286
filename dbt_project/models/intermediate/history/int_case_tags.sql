{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

with

cases as (select * from {{ ref('stg_tasks__cases') }} where {{ in_this_build() }}),
tasks as (select * from {{ ref('int_tasks_resolved') }} where {{ in_this_build() }}),
test_cases as (select * from {{ ref('stg_testsets__test_cases') }}),

given as (

    select
        task_id,
        case_id,
        {{ unnested(json_text_elements('tags')) }} as tag

    from cases

),

of_testset as (

    select
        cases.task_id,
        cases.case_id,
        {{ unnested(json_text_elements('test_cases.tags')) }} as tag

    from cases
    inner join tasks using (task_id)
    inner join test_cases
        on tasks.testset_id = test_cases.testset_id and cases.case_id = test_cases.case_id

),

tags as (

    select * from given

    union

    select * from of_testset

)

select * from tags
