{{ config(materialized=view_of_step()) }}

with

pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
case_pairs as (select * from {{ ref('promptlab', 'int_case_pairs') }} where present_in <> 'candidate'),
tasks as (select * from {{ ref('promptlab', 'int_tasks_resolved') }}),
stored_tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
testsets as (select * from {{ ref('promptlab', 'stg_testsets__testsets') }}),
test_cases as (select * from {{ ref('promptlab', 'stg_testsets__test_cases') }}),
loads as (select * from {{ ref('promptlab', 'stg_loads__loads') }}),

-- both tasks are judged by the testset as it is now: what it expected before is not known,
-- also of cases that both it and the run lost
replaced_cases as (

    select
        load_id,
        {{ unnested(json_text_elements('replaced')) }} as replaced

    from loads
    where kind = 'testset'

),

cases_of_testsets as (

    select distinct
        case_pairs.baseline_task_id,
        case_pairs.candidate_task_id,
        tasks.testset_id,
        case_pairs.case_id,
        replaced_cases.replaced is not null as is_changed,
        replaced_cases.replaced is not null and test_cases.case_id is null as is_removed

    from case_pairs
    inner join tasks
        on case_pairs.candidate_task_id = tasks.task_id and tasks.testset_id is not null
    inner join stored_tasks on case_pairs.baseline_task_id = stored_tasks.task_id
    left join replaced_cases
        on
            tasks.testset_id || '|' || case_pairs.case_id = replaced_cases.replaced
            and stored_tasks.load_id < replaced_cases.load_id
    left join test_cases
        on
            tasks.testset_id = test_cases.testset_id
            and case_pairs.case_id = test_cases.case_id

),

gaps as (

    select
        baseline_task_id,
        candidate_task_id,
        'testset_changed' as gap,
        testset_id as subject,
        testset_id as name,
        count(*) as n_before,
        count(*) filter (where not is_changed) as n_now

    from cases_of_testsets
    group by baseline_task_id, candidate_task_id, testset_id
    having n_now < n_before

    union all

    -- their tags are not known either
    select
        baseline_task_id,
        candidate_task_id,
        'testset_cases_removed' as gap,
        testset_id as subject,
        testset_id as name,
        count(*) as n_before,
        count(*) filter (where not is_removed) as n_now

    from cases_of_testsets
    group by baseline_task_id, candidate_task_id, testset_id
    having n_now < n_before

    union all

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        'testset_rejected' as gap,
        testsets.testset_id as subject,
        testsets.testset_id as name,
        testsets.cases + loads.rows_rejected as n_before,
        testsets.cases as n_now

    from pairs
    inner join tasks on pairs.candidate_task_id = tasks.task_id
    inner join testsets using (testset_id)
    inner join loads on testsets.load_id = loads.load_id
    where loads.rows_rejected > 0

)

select * from gaps
