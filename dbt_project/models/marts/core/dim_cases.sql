-- One row per task and case: a case of several tasks has a row in each.
with

cases as (select * from {{ ref('promptlab', 'stg_tasks__cases') }} where {{ in_this_build() }}),
tasks as (select * from {{ ref('promptlab', 'int_tasks_resolved') }} where {{ in_this_build() }}),
test_cases as (select * from {{ ref('promptlab', 'stg_testsets__test_cases') }}),
case_tags as (select * from {{ ref('promptlab', 'int_case_tags') }} where {{ in_this_build() }}),

tagged as (

    select
        task_id,
        case_id,
        {{ json_list_of('tag', 'tag', at_most=1000) }} as tags

    from case_tags
    group by task_id, case_id

),

final as (

    select

        ---------- ids
        cases.task_id,
        cases.case_id,

        ---------- numerics
        cases.case_position,

        ---------- booleans
        case
            when tasks.testset_id is not null then test_cases.case_id is not null
        end as in_testset,

        ---------- json
        coalesce(tagged.tags, cast('[]' as json)) as tags,
        cases.context

    from cases
    inner join tasks using (task_id)
    left join test_cases using (testset_id, case_id)
    left join tagged using (task_id, case_id)

)

select * from final
