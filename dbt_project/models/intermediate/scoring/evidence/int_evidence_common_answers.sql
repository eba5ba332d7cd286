{{ config(materialized=view_of_step()) }}

with

picked as (select * from {{ ref('int_evidence_rounds') }}),
dimensions as (select * from {{ ref('int_dimensions_resolved') }} where scorer = 'consistency'),
rounds as (select * from {{ ref('int_rounds_prepared') }} where answer is not null),

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
        left(rounds.answer, 2000) as answer,
        row_number() over (
            partition by rounds.task_id, rounds.case_id
            order by count(*) desc, left(rounds.answer, 2000)
        ) as choice

    from rounds
    inner join picked_cases using (task_id, case_id)
    where not rounds.is_error
    group by rounds.task_id, rounds.case_id, left(rounds.answer, 2000)

)

select
    task_id,
    case_id,
    left(answer, 500) as common_answer
from answers
where choice = 1
