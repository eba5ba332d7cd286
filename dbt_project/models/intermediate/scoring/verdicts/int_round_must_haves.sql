{{ config(materialized=view_of_step()) }}

-- One row per round: whether every must-have that was judged is met, from checks, rules, judges and the file.
with

rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),
matches as (select * from {{ ref('promptlab', 'int_match_results') }}),
rule_lists as (
    select * from {{ ref('promptlab', 'int_rules_checked') }} where must_holds is not null
),
scores as (
    select * from {{ ref('promptlab', 'int_scores_chosen') }}
    where
        nullif(json_extract(payload, '$.must_have_pass'), 'null') is not null
        or nullif(json_extract(payload, '$.must_haves'), 'null') is not null
),

violations as (

    select
        task_id,
        case_id,
        round_id,
        unnest(json_extract(rule_violations, '$[*]')) as violation

    from rounds
    where {{ json_kind('rule_violations') }} = 'array'

),

findings as (

    select
        task_id,
        case_id,
        round_id,
        matched as is_satisfied

    from matches

    union all

    select
        task_id,
        case_id,
        round_id,
        must_holds as is_satisfied

    from rule_lists

    union all

    -- a violation without severity broke a must
    select
        task_id,
        case_id,
        round_id,
        false as is_satisfied

    from violations
    where coalesce(json_extract_string(violation, '$.severity'), 'must') = 'must'

    union all

    select
        task_id,
        case_id,
        round_id,
        -- what is neither true nor false says nothing
        case coalesce(json_extract_string(payload, '$.must_have_pass'), 'true')
            when 'true' then true
            when 'false' then false
        end
        and coalesce(len(
            list_filter(
                json_extract(nullif(json_extract(payload, '$.must_haves'), 'null'), '$[*]'),
                lambda k: json_extract_string(k, '$.satisfied') = 'false'
            )
        ), 0) = 0 as is_satisfied

    from scores

    union all

    select
        task_id,
        case_id,
        round_id,
        false as is_satisfied

    from rounds
    where error_code like 'failed_step: %'

    union all

    -- what the file itself says: false counts always, true only without a testset
    select
        task_id,
        case_id,
        round_id,
        reported_must_have_pass as is_satisfied

    from rounds
    where reported_must_have_pass = false or testset_id is null

),

judged as (

    select
        task_id,
        case_id,
        round_id,
        bool_and(is_satisfied) as must_have_pass

    from findings
    group by task_id, case_id, round_id

)

select * from judged
