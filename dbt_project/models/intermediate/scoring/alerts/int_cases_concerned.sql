{{ config(materialized=view_of_step()) }}

-- One row per task, alert (`code`), case, dimension and reason: the cases that int_alerts_of_cases counts and lists.
with

cases as (select * from {{ ref('promptlab', 'stg_tasks__cases') }} where {{ in_this_build() }}),
tasks as (select * from {{ ref('promptlab', 'int_tasks_resolved') }} where {{ in_this_build() }}),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),
round_scores as (select * from {{ ref('promptlab', 'int_round_scores') }}),
matches as (select * from {{ ref('promptlab', 'int_match_results') }}),
test_cases as (select * from {{ ref('promptlab', 'stg_testsets__test_cases') }}),
rejects as (select * from {{ ref('promptlab', 'stg_loads__rejects') }}),

concerned as (

    select
        cases.task_id,
        'case_without_rounds' as code,
        cases.case_id,
        cast(null as string) as dimension_id,
        cast(null as string) as reason

    from cases
    left join rounds using (task_id, case_id)
    where rounds.round_id is null

    union all

    select
        cases.task_id,
        'case_not_in_testset' as code,
        cases.case_id,
        cast(null as string) as dimension_id,
        cast(null as string) as reason

    from cases
    inner join tasks using (task_id)
    left join test_cases using (testset_id, case_id)
    where tasks.testset_id is not null and test_cases.case_id is null

    union all

    select
        tasks.task_id,
        'testset_case_missing' as code,
        test_cases.case_id,
        cast(null as string) as dimension_id,
        cast(null as string) as reason

    from tasks
    inner join test_cases using (testset_id)
    left join cases on tasks.task_id = cases.task_id and test_cases.case_id = cases.case_id
    where cases.case_id is null

    union all

    -- a record without an id is named by its place, whatever its number of errors: in a list by
    -- its position there, else by its line
    select
        tasks.task_id,
        case when rejects.severity = 'reject' then 'rejected_case' else 'duplicate_round' end
            as code,
        coalesce(
            rejects.record_id,
            nullif(regexp_extract(rejects.pointer, '^(/cases)?/[0-9]+', 0), ''),
            case
                when tasks.source_kind <> 'results' and rejects.pointer is not null
                    then concat_ws(' ', cast(rejects.line_number as string), rejects.pointer)
            end,
            cast(rejects.line_number as string),
            '?'
        ) as case_id,
        cast(null as string) as dimension_id,
        cast(null as string) as reason

    from tasks
    inner join rejects using (load_id)
    where rejects.severity = 'reject' or rejects.code = 'duplicate_round'

    union all

    select
        task_id,
        'invalid_pattern' as code,
        case_id,
        cast(null as string) as dimension_id,
        cast(null as string) as reason

    from matches
    where checks_unevaluated > 0

    union all

    select
        task_id,
        case when reason = 'invalid_pattern' then reason else 'case_without_baseline' end as code,
        case_id,
        dimension_id,
        reason

    from round_scores
    where
        reason in ('no_baseline', 'blank_baseline', 'no_rules')
        or (reason = 'invalid_pattern' and scorer <> 'expectations')

)

select distinct * from concerned
