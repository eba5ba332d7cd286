{{ config(materialized='view') }}

-- The rules that the rounds picked as evidence broke.
with

picked as (

    select * from {{ ref('int_evidence_rounds') }}

),

dimensions as (

    select * from {{ ref('int_dimensions_resolved') }}
    where scorer = 'rules'

),

rules as (

    select * from {{ ref('int_rules_flattened') }}

),

rounds as (

    select * from {{ ref('int_rounds_prepared') }}

),

judged as (

    select
        picked.task_id,
        picked.dimension_id,
        picked.case_id,
        picked.round_id,
        rules.baseline_id,
        rules.rule_no,
        {{ rule_text('rules') }} as rule_text,
        {{ rule_holds('rules', 'rounds') }} as holds

    from picked
    inner join dimensions
        on
            picked.task_id = dimensions.task_id
            and picked.dimension_id = dimensions.dimension_id
    inner join rules on picked.task_id = rules.task_id and picked.case_id = rules.case_id
    inner join rounds
        on
            picked.task_id = rounds.task_id
            and picked.case_id = rounds.case_id
            and picked.round_id = rounds.round_id

),

broken as (

    select
        task_id,
        dimension_id,
        case_id,
        round_id,
        left(string_agg(rule_text, '; ' order by baseline_id, rule_no), 500) as broken_rules

    from judged
    where not holds
    group by task_id, dimension_id, case_id, round_id

)

select * from broken
