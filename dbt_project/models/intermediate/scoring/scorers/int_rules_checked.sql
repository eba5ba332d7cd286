with

judged as (select * from {{ ref('promptlab', 'int_rules_judged') }}),

checked as (

    select
        task_id,
        case_id,
        round_id,
        baseline_id,
        bool_or(severity = 'must') as is_must,
        case
            when bool_or(not holds) then false
            when count(*) = count(holds) then true
        end as holds,
        min(case
            when holds is not null then null
            when rule = 'regex' then 'invalid_pattern'
            when is_usable then 'not_measured'
            else 'unknown_rule'
        end) as reason

    from judged
    group by task_id, case_id, round_id, baseline_id

)

select * from checked
