{{ config(unique_key='task_id', meta={'batch': 'tasks'}) }}

-- Which testset and which pipeline a task belongs to. Testset: the first of the command
-- line, the record, extras.testset, env.testset, env.dataset, the pipeline's default that
-- names exactly one testset, by its id or by the id's last path part. Pipeline: the
-- record, extras.pipeline, env.pipeline, else the only one whose default testset it is.
with

tasks as (select * from {{ ref('stg_tasks__tasks') }}),
loads as (select * from {{ ref('stg_loads__loads') }}),

testsets as (

    select
        testset_id,
        {{ last_path_part('testset_id') }} as last_part

    from {{ ref('stg_testsets__testsets') }}

),

pipelines as (

    select
        *,
        {{ without_suffix('default_testset', '.jsonl') }} as default_testset_ref

    from {{ ref('int_pipelines_targeted') }}

),

pipeline_references as (

    select
        task_id,
        1 as priority,
        pipeline_ref as reference
    from tasks

    union all

    select
        task_id,
        2 as priority,
        {{ json_text('extras', 'pipeline') }} as reference
    from tasks

    union all

    select
        task_id,
        3 as priority,
        {{ json_text('env', 'pipeline') }} as reference
    from tasks

),

named_pipelines as (

    select
        pipeline_references.task_id,
        min_by(pipelines.pipeline_id, pipeline_references.priority) as pipeline_id,
        min_by(pipelines.default_testset_ref, pipeline_references.priority)
        filter (where pipelines.default_testset_ref is not null) as default_testset_ref

    from pipeline_references
    inner join pipelines on pipeline_references.reference = pipelines.pipeline_id
    group by pipeline_references.task_id

),

testset_references as (

    select
        tasks.task_id,
        1 as priority,
        'option' as testset_source,
        loads.testset_override as reference
    from tasks
    inner join loads using (load_id)

    union all

    select
        task_id,
        2 as priority,
        'record' as testset_source,
        testset_ref as reference
    from tasks
    where source_kind = 'results'

    union all

    select
        task_id,
        3 as priority,
        'extras.testset' as testset_source,
        {{ json_text('extras', 'testset') }} as reference
    from tasks

    union all

    select
        task_id,
        4 as priority,
        'env.testset' as testset_source,
        {{ json_text('env', 'testset') }} as reference
    from tasks

    union all

    select
        task_id,
        5 as priority,
        'env.dataset' as testset_source,
        {{ json_text('env', 'dataset') }} as reference
    from tasks

    union all

    select
        task_id,
        6 as priority,
        'pipeline' as testset_source,
        default_testset_ref as reference
    from named_pipelines

),

cleaned_references as (

    select
        task_id,
        priority,
        testset_source,
        {{ without_suffix('reference', '.jsonl') }} as reference

    from testset_references
    where reference is not null

),

testset_matches as (

    select
        cleaned_references.task_id,
        cleaned_references.priority,
        cleaned_references.testset_source,
        testsets.testset_id,
        cleaned_references.reference = testsets.testset_id as is_exact,
        count(*) over (
            partition by cleaned_references.task_id, cleaned_references.priority
        ) as n_matches

    from cleaned_references
    inner join testsets
        on
            cleaned_references.reference = testsets.testset_id
            or cleaned_references.reference = testsets.last_part

),

chosen_testsets as (

    select
        task_id,
        min_by(testset_id, priority) as testset_id,
        min_by(testset_source, priority) as testset_source

    from testset_matches
    where is_exact or n_matches = 1
    group by task_id

),

default_pipelines as (

    select
        testsets.testset_id,
        min(pipelines.pipeline_id) as pipeline_id

    from testsets
    inner join pipelines
        on
            testsets.testset_id = pipelines.default_testset_ref
            or testsets.last_part = {{ last_path_part('pipelines.default_testset_ref') }}
    group by testsets.testset_id
    having count(*) = 1

),

resolved as (

    select

        ---------- ids
        tasks.task_id,
        tasks.load_id,
        chosen_testsets.testset_id,
        coalesce(named_pipelines.pipeline_id, default_pipelines.pipeline_id) as pipeline_id,

        ---------- strings
        tasks.source_kind,
        chosen_testsets.testset_source

    from tasks
    left join chosen_testsets using (task_id)
    left join named_pipelines using (task_id)
    left join default_pipelines on chosen_testsets.testset_id = default_pipelines.testset_id

)

select
    resolved.*,
    pipelines.target_name,
    pipelines.target_step_id,
    pipelines.target_output_key

from resolved
left join pipelines on resolved.pipeline_id = pipelines.pipeline_id
