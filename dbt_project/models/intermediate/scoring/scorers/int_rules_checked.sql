-- A baseline of type `rules` is a list of rules on one case. One row per such list and round: whether
-- the round passes all of them (`holds`), and those of severity must alone (`must_holds`).
with

judged as (select * from {{ ref('promptlab', 'int_rules_judged') }}),

checked as (

    select
        task_id,
        case_id,
        round_id,
        baseline_id,
        case
            when bool_or(not holds) then false
            when count(*) = count(holds) then true
        end as holds,
        -- null if there is none, or none that could be judged
        bool_and(holds) filter (where severity = 'must') as must_holds,
        -- of a rule that could not be judged, also where another one is broken
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
