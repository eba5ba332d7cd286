{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per task and case: hashes of what is asked (`inputs_hash`) and of what is expected, by the
-- testset, the tool and the references. Two tasks have the same case where these are equal.
with

cases as (select * from {{ ref('promptlab', 'stg_tasks__cases') }} where {{ in_this_build() }}),
tasks as (select * from {{ ref('promptlab', 'int_tasks_resolved') }} where {{ in_this_build() }}),
test_cases as (select * from {{ ref('promptlab', 'stg_testsets__test_cases') }}),
baselines as (
    select * from {{ ref('promptlab', 'stg_tasks__baselines') }}
    where {{ in_this_build() }} and baseline_type in ('golden_answer', 'rules')
),

different_contexts as (

    select distinct context
    from cases

),

contexts as (

    select
        context,
        md5({{ canonical_json('context') }}) as inputs_hash

    from different_contexts

),

different_payloads as (

    select distinct payload
    from baselines

),

payloads as (

    select
        payload,
        {{ canonical_json('payload') }} as payload_text

    from different_payloads

),

references_joined as (

    select
        baselines.task_id,
        baselines.case_id,
        md5(string_agg(
            baselines.baseline_type || ' ' || payloads.payload_text,
            chr(10) order by baselines.baseline_type, payloads.payload_text
        )) as references_hash

    from baselines
    inner join payloads using (payload)
    group by baselines.task_id, baselines.case_id

),

parts as (

    select
        cases.task_id,
        cases.case_id,
        contexts.inputs_hash,
        test_cases.content_hash as expectations_hash,
        cases.expectation_hash as assertions_hash,
        references_joined.references_hash

    from cases
    inner join tasks using (task_id)
    inner join contexts using (context)
    left join references_joined using (task_id, case_id)
    left join test_cases using (testset_id, case_id)

),

hashed as (

    select
        *,
        md5(concat_ws(' ', inputs_hash, coalesce(expectations_hash, '-'), references_hash))
            as contents_hash

    from parts

)

select * from hashed
