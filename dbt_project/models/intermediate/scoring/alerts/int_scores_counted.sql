{{ config(materialized=view_of_step()) }}

with

scores as (select * from {{ ref('int_scores_chosen') }}),
rounds as (select * from {{ ref('int_rounds_prepared') }}),

received as (

    select
        scores.task_id,
        scores.dimension_id,
        scores.is_asked_for,
        count(*) as n_received,
        count(*) filter (where scores.has_several_scorers) as n_contested,
        count(distinct scores.case_id) as n_cases,
        {{ json_list_of('distinct scores.case_id', 'scores.case_id') }} as case_ids

    from scores
    inner join rounds using (task_id, case_id, round_id)
    group by scores.task_id, scores.dimension_id, scores.is_asked_for

)

select * from received
