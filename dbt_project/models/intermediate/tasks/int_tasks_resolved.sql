{{ config(unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per task: which testset and which pipeline it belongs to, and where it says so (`testset_source`).
with

tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
loads as (select * from {{ ref('promptlab', 'stg_loads__loads') }}),
testsets as (select * from {{ ref('promptlab', 'stg_testsets__testsets') }}),
cases as (select * from {{ ref('promptlab', 'stg_tasks__cases') }}),
test_cases as (select * from {{ ref('promptlab', 'stg_testsets__test_cases') }}),
testset_names as (select * from {{ ref('promptlab', 'int_testset_names') }}),

pipelines as (

    select
        pipeline_id,
        regexp_replace(default_testset, '[.]jsonl$', '', 'g') as default_testset

    from {{ ref('promptlab', 'stg_pipelines__pipelines') }}

),

default_pipelines as (

    select
        testsets.testset_id,
        min(pipelines.pipeline_id) as pipeline_id

    from testsets
    inner join pipelines
        on
            split_part(testsets.testset_id, '/', -1)
            = split_part(pipelines.default_testset, '/', -1)
    group by testsets.testset_id
    having count(*) = 1

),

-- what the option of the load, each field of the task and its pipeline say that its testset is
named_testsets as (

    select
        tasks.task_id,
        tasks.load_id,
        tasks.source_kind,
        coalesce(by_record.pipeline_id, by_extras.pipeline_id, by_env.pipeline_id) as pipeline_id,
        regexp_replace(loads.testset_override, '[.]jsonl$', '', 'g') as option_testset,
        case when tasks.source_kind = 'results' then tasks.testset_ref end as given_testset,
        regexp_replace(given_testset, '[.]jsonl$', '', 'g') as record_testset,
        json_extract_string(tasks.extras, '$.testset') as given_extras_testset,
        regexp_replace(given_extras_testset, '[.]jsonl$', '', 'g') as extras_testset,
        json_extract_string(tasks.env, '$.testset') as given_env_testset,
        regexp_replace(given_env_testset, '[.]jsonl$', '', 'g') as env_testset,
        json_extract_string(tasks.env, '$.dataset') as given_env_dataset,
        regexp_replace(given_env_dataset, '[.]jsonl$', '', 'g') as env_dataset,
        coalesce(
            by_record.default_testset, by_extras.default_testset, by_env.default_testset
        ) as pipeline_testset

    from tasks
    inner join loads using (load_id)
    left join pipelines as by_record on tasks.pipeline_ref = by_record.pipeline_id
    left join pipelines as by_extras
        on json_extract_string(tasks.extras, '$.pipeline') = by_extras.pipeline_id
    left join pipelines as by_env
        on json_extract_string(tasks.env, '$.pipeline') = by_env.pipeline_id

),

-- the first of these counts that names exactly one testset
chosen as (

    select
        named_testsets.task_id,
        named_testsets.load_id,
        named_testsets.source_kind,
        named_testsets.pipeline_id,
        case
            when by_option.testset_id is not null then 'option'
            when by_record.testset_id is not null then 'record'
            when by_extras.testset_id is not null then 'extras.testset'
            when by_env.testset_id is not null then 'env.testset'
            when by_dataset.testset_id is not null then 'env.dataset'
            when by_pipeline.testset_id is not null then 'pipeline'
        end as testset_source,
        named_testsets.source_kind = 'results'
        and coalesce(
            named_testsets.option_testset, named_testsets.record_testset, named_testsets.extras_testset,
            named_testsets.env_testset, named_testsets.pipeline_testset
        ) is null as is_unnamed,
        coalesce(
            by_option.testset_id, by_record.testset_id, by_extras.testset_id,
            by_env.testset_id, by_dataset.testset_id, by_pipeline.testset_id
        ) as testset_id

    from named_testsets
    left join testset_names as by_option on named_testsets.option_testset = by_option.called
    left join testset_names as by_record on named_testsets.record_testset = by_record.called
    left join testset_names as by_extras on named_testsets.extras_testset = by_extras.called
    left join testset_names as by_env on named_testsets.env_testset = by_env.called
    left join testset_names as by_dataset on named_testsets.env_dataset = by_dataset.called
    left join testset_names as by_pipeline on named_testsets.pipeline_testset = by_pipeline.called

),

-- results that name no testset are of the only one that has all their cases
unnamed_cases as (

    select
        chosen.task_id,
        cases.case_id,
        count(*) over (partition by chosen.task_id) as n_cases

    from chosen
    inner join cases using (task_id)
    where chosen.is_unnamed and chosen.testset_id is null

),

candidates as (

    select
        unnamed_cases.task_id,
        test_cases.testset_id

    from unnamed_cases
    inner join test_cases using (case_id)
    group by unnamed_cases.task_id, test_cases.testset_id, unnamed_cases.n_cases
    having count(*) = unnamed_cases.n_cases

),

by_cases as (

    select
        task_id,
        max(testset_id) as testset_id

    from candidates
    group by task_id
    having count(*) = 1

),

resolved as (

    select

        ---------- ids
        chosen.task_id,
        chosen.load_id,
        coalesce(chosen.testset_id, by_cases.testset_id) as testset_id,
        coalesce(chosen.pipeline_id, default_pipelines.pipeline_id) as pipeline_id,

        ---------- strings
        chosen.source_kind,
        case
            when by_cases.testset_id is not null then 'cases'
            else chosen.testset_source
        end as testset_source

    from chosen
    left join by_cases using (task_id)
    left join default_pipelines
        on coalesce(chosen.testset_id, by_cases.testset_id) = default_pipelines.testset_id

)

select * from resolved
