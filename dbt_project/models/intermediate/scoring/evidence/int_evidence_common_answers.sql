{{ config(materialized=view_of_step()) }}

-- What most rounds of a case answered, for evidence of inconsistency.
with

picked as (select * from {{ ref('int_evidence_rounds') }}),
dimensions as (select * from {{ ref('int_dimensions_resolved') }} where scorer = 'consistency'),
rounds as (select * from {{ ref('fct_rounds') }} where {{ in_this_build() }}),

picked_cases as (

    select distinct
        picked.task_id,
        picked.case_id

    from picked
    inner join dimensions using (task_id, dimension_id)

),

answers as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.answer,
        count(*) as n_rounds,
        row_number() over (
            partition by rounds.task_id, rounds.case_id order by count(*) desc, rounds.answer
        ) as choice

    from rounds
    inner join picked_cases using (task_id, case_id)
    where rounds.answer is not null and rounds.status <> 'error'
    group by rounds.task_id, rounds.case_id, rounds.answer

)

select
    task_id,
    case_id,
    left(answer, 500) as common_answer
from answers
where choice = 1
