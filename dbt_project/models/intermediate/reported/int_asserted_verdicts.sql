-- One row per round and name of an assertion of its tool: several of one name are one verdict.
with

checks as (select * from {{ ref('promptlab', 'int_reported_checks') }} where {{ in_this_build() }}),

-- all assertions of one name have to pass
final as (

    select
        task_id,
        case_id,
        round_id,
        check_name,
        max(check_type) as check_type,
        case
            when bool_or(status = 'fail') then 'fail'
            when bool_and(status = 'pass') then 'pass'
        end as verdict,
        min(score) as score

    from checks
    where check_name <> 'verdict'
    group by task_id, case_id, round_id, check_name

)

select * from final
