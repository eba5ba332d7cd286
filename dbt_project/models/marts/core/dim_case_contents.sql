-- One row per task and case: what is asked and what is expected.
with

cases as (select * from {{ ref('promptlab', 'stg_tasks__cases') }} where {{ in_this_build() }}),
tasks as (select * from {{ ref('promptlab', 'dim_tasks') }} where {{ in_this_build() }}),
test_cases as (select * from {{ ref('promptlab', 'stg_testsets__test_cases') }}),

golden_answers as (

    select
        task_id,
        case_id,
        cast(
            '[' || string_agg(cast(payload as string), ',' order by baseline_position) || ']' as json
        ) as golden_answers

    from {{ ref('promptlab', 'stg_tasks__baselines') }}
    where {{ in_this_build() }} and baseline_type = 'golden_answer'
    group by task_id, case_id

),

final as (

    select

        ---------- ids
        cases.task_id,
        cases.case_id,

        ---------- json
        test_cases.inputs,
        test_cases.step_inputs,
        test_cases.batch_items,
        test_cases.expected_outputs,
        golden_answers.golden_answers

    from cases
    inner join tasks using (task_id)
    left join test_cases using (testset_id, case_id)
    left join golden_answers using (task_id, case_id)

)

select * from final
