{{ config(materialized=view_of_step()) }}

with

picked as (select * from {{ ref('int_evidence_rounds') }}),
dimensions as (select * from {{ ref('int_dimensions_resolved') }} where scorer = 'rules'),
rules as (select * from {{ ref('int_rules_judged') }}),

broken as (

    select
        picked.task_id,
        picked.dimension_id,
        picked.case_id,
        picked.round_id,
        left(
            {{ joined('rules.rule_text', "'; '", 'rules.baseline_id, rules.rule_no') }}, 500
        ) as broken_rules

    from picked
    inner join dimensions using (task_id, dimension_id)
    inner join rules using (task_id, case_id, round_id)
    where not rules.holds
    group by picked.task_id, picked.dimension_id, picked.case_id, picked.round_id

)

select * from broken
