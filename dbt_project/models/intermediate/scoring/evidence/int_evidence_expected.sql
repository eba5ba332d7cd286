{{ config(materialized=view_of_step()) }}

-- One row per round that is evidence of a dimension: what was expected, as a text.
with

picked as (select * from {{ ref('promptlab', 'int_evidence_rounds') }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),
rules as (select * from {{ ref('promptlab', 'int_rules_judged') }}),
golden_answers as (select * from {{ ref('promptlab', 'int_golden_answers') }}),

picked_rounds as (

    select
        picked.task_id,
        picked.dimension_id,
        picked.case_id,
        picked.round_id,
        picked.expected,
        dimensions.scorer

    from picked
    inner join dimensions using (task_id, dimension_id)

),

golden_texts as (

    select
        task_id,
        case_id,
        string_agg(golden_answer, ' / ' order by golden_no) as golden_text

    from golden_answers
    group by task_id, case_id

),

broken_rules as (

    select
        picked_rounds.task_id,
        picked_rounds.dimension_id,
        picked_rounds.case_id,
        picked_rounds.round_id,
        string_agg(rules.rule_text, '; ' order by rules.baseline_id, rules.rule_no) as rule_texts

    from picked_rounds
    inner join rules using (task_id, case_id, round_id)
    where picked_rounds.scorer = 'rules' and not rules.holds
    group by
        picked_rounds.task_id,
        picked_rounds.dimension_id,
        picked_rounds.case_id,
        picked_rounds.round_id

),

inconsistent_cases as (

    select distinct
        task_id,
        case_id

    from picked_rounds
    where scorer = 'consistency'

),

answers as (

    select
        rounds.task_id,
        rounds.case_id,
        left(rounds.answer, 2000) as answer,
        row_number() over (
            partition by rounds.task_id, rounds.case_id
            order by count(*) desc, left(rounds.answer, 2000)
        ) as choice

    from rounds
    inner join inconsistent_cases using (task_id, case_id)
    where rounds.answer is not null and not rounds.is_error
    group by rounds.task_id, rounds.case_id, left(rounds.answer, 2000)

),

commonest_answers as (select * from answers where choice = 1),

expected as (

    select
        picked_rounds.task_id,
        picked_rounds.dimension_id,
        picked_rounds.case_id,
        picked_rounds.round_id,
        case
            when picked_rounds.scorer in ('accuracy', 'judge')
                then left(golden_texts.golden_text, 500)
            when picked_rounds.scorer = 'rules' then left(broken_rules.rule_texts, 500)
            when picked_rounds.scorer = 'consistency' then left(commonest_answers.answer, 500)
            else picked_rounds.expected
        end as expected

    from picked_rounds
    left join golden_texts using (task_id, case_id)
    left join broken_rules using (task_id, dimension_id, case_id, round_id)
    left join commonest_answers using (task_id, case_id)

)

select * from expected
