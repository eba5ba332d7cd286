{{ config(materialized=view_of_step()) }}

with

pairs as (select * from {{ ref('int_task_pairs') }} where {{ in_this_build('comparisons') }}),
cases as (select * from {{ ref('int_yardstick_cases') }}),
tasks as (select * from {{ ref('int_tasks_resolved') }}),
stored_tasks as (select * from {{ ref('stg_tasks__tasks') }}),
testsets as (select * from {{ ref('stg_testsets__testsets') }}),
loads as (select * from {{ ref('stg_loads__loads') }}),
matches as (
    select * from {{ ref('fct_match_results') }}
    where task_id in (select pairs.candidate_task_id from pairs)
),

-- both tasks are judged by the testset as it is now: what it expected before is not known
replaced_cases as (

    select
        load_id,
        {{ unnested(json_text_elements('replaced')) }} as replaced

    from loads
    where kind = 'testset'

),

cases_of_testsets as (

    select distinct
        cases.baseline_task_id,
        cases.candidate_task_id,
        tasks.testset_id,
        cases.case_id,
        replaced_cases.replaced is not null as is_changed

    from cases
    inner join tasks on cases.candidate_task_id = tasks.task_id and tasks.testset_id is not null
    inner join stored_tasks on cases.baseline_task_id = stored_tasks.task_id
    left join replaced_cases
        on
            tasks.testset_id || '|' || cases.case_id = replaced_cases.replaced
            and stored_tasks.load_id < replaced_cases.load_id

),

of_changed_testsets as (

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

),

of_testsets as (

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

),

expected_cases as (

    select
        task_id,
        case_id,
        bool_or(status = 'unevaluated') as is_unjudged

    from matches
    group by task_id, case_id

),

of_expectations as (

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        'expectations_unjudged' as gap,
        'expectations' as subject,
        cast(null as string) as name,
        count(*) as n_before,
        count(*) filter (where not expected_cases.is_unjudged) as n_now

    from pairs
    inner join expected_cases on pairs.candidate_task_id = expected_cases.task_id
    group by pairs.baseline_task_id, pairs.candidate_task_id
    having n_now < n_before

),

gaps as (

    select * from of_changed_testsets

    union all

    select * from of_testsets

    union all

    select * from of_expectations

)

select * from gaps
