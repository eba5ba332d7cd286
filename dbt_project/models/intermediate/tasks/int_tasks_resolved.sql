-- Which testset and which pipeline a task belongs to. Testset: the first of the command
-- line, the record, extras.testset, env.testset, env.dataset, the pipeline's default that
-- names exactly one testset, by its id or by the id's last path part. Pipeline: the
-- record, extras.pipeline, env.pipeline, else the only one whose default testset it is.
with

tasks as (

    select * from {{ ref('stg_tasks__tasks') }}

),

loads as (

    select * from {{ ref('stg_loads__loads') }}

),

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

named_pipelines as (

    select
        tasks.task_id,
        arg_min(pipelines.pipeline_id, candidates.priority) as pipeline_id,
        arg_min(pipelines.default_testset_ref, candidates.priority) as default_testset_ref

    from tasks
    cross join lateral (
        values
        (1, tasks.pipeline_ref),
        (2, {{ json_text('tasks.extras', 'pipeline') }}),
        (3, {{ json_text('tasks.env', 'pipeline') }})
    ) as candidates (priority, reference)
    inner join pipelines on candidates.reference = pipelines.pipeline_id
    group by tasks.task_id

),

testset_references as (

    select
        tasks.task_id,
        candidates.priority,
        candidates.testset_source,
        {{ without_suffix('candidates.reference', '.jsonl') }} as reference

    from tasks
    left join loads on tasks.load_id = loads.load_id
    left join named_pipelines on tasks.task_id = named_pipelines.task_id
    cross join lateral (
        values
        (1, 'option', loads.testset_override),
        (2, 'record', tasks.testset_ref),
        (3, 'extras.testset', {{ json_text('tasks.extras', 'testset') }}),
        (4, 'env.testset', {{ json_text('tasks.env', 'testset') }}),
        (5, 'env.dataset', {{ json_text('tasks.env', 'dataset') }}),
        (6, 'pipeline', named_pipelines.default_testset_ref)
    ) as candidates (priority, testset_source, reference)
    where candidates.reference is not null

),

testset_matches as (

    select
        testset_references.task_id,
        testset_references.priority,
        testset_references.testset_source,
        testsets.testset_id,
        testset_references.reference = testsets.testset_id as is_exact,
        count(*) over (
            partition by testset_references.task_id, testset_references.priority
        ) as n_matches

    from testset_references
    inner join testsets
        on
            testset_references.reference = testsets.testset_id
            or testset_references.reference = testsets.last_part

),

chosen_testsets as (

    select
        task_id,
        arg_min(testset_id, priority) as testset_id,
        arg_min(testset_source, priority) as testset_source

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
    left join chosen_testsets on tasks.task_id = chosen_testsets.task_id
    left join named_pipelines on tasks.task_id = named_pipelines.task_id
    left join default_pipelines on chosen_testsets.testset_id = default_pipelines.testset_id

)

select
    resolved.*,
    pipelines.target_name,
    pipelines.target_step_id,
    pipelines.target_output_key

from resolved
left join pipelines on resolved.pipeline_id = pipelines.pipeline_id
