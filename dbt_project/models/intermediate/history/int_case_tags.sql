{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per task, case and tag, the name of a group of cases: from the file of the task, the
-- metadata of the case (`key:text`) or its testset.
with

cases as (select * from {{ ref('promptlab', 'stg_tasks__cases') }} where {{ in_this_build() }}),
tasks as (select * from {{ ref('promptlab', 'int_tasks_resolved') }} where {{ in_this_build() }}),
test_cases as (select * from {{ ref('promptlab', 'stg_testsets__test_cases') }}),

of_case as (

    select
        task_id,
        case_id,
        unnest(json_extract_string(tags, '$[*]')) as tag

    from cases

),

-- the keys of a case's metadata, and their texts
keys as (

    select
        task_id,
        case_id,
        categories,
        unnest(json_keys(categories)) as category

    from cases
    where categories is not null

),

categories as (

    select
        task_id,
        case_id,
        category,
        {{ json_as_text(json_member('categories', 'category')) }} as value

    from keys

),

-- a key with a text for nearly every case says nothing of groups: 20 texts at most, each for two
-- cases on average
few_texts as (

    select
        task_id,
        category

    from categories
    group by task_id, category
    having
        count(distinct value) between 2 and 20
        and count(*) >= 2 * count(distinct value)

),

of_metadata as (

    select
        categories.task_id,
        categories.case_id,
        categories.category || ':' || categories.value as tag

    from categories
    inner join few_texts using (task_id, category)

),

of_testset as (

    select
        cases.task_id,
        cases.case_id,
        unnest(json_extract_string(test_cases.tags, '$[*]')) as tag

    from cases
    inner join tasks using (task_id)
    inner join test_cases using (testset_id, case_id)

),

tags as (

    select * from of_case

    union

    select * from of_metadata

    union

    select * from of_testset

)

select * from tags
