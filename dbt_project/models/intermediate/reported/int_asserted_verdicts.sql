-- One row per round and name of an assertion that its tool judged: whether all assertions of that name passed; null if
-- one was not judged and none failed. The one named `verdict` is that of the round itself, and left out.
with

checks as (select * from {{ ref('promptlab', 'stg_reported__checks') }} where {{ in_this_build() }}),

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
