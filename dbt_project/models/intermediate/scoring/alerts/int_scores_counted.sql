{{ config(materialized=view_of_step()) }}

-- One row per task and dimension with outside scores of existing rounds: how many, and how many are contested.
with

scores as (select * from {{ ref('promptlab', 'int_scores_chosen') }}),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),

received as (

    select
        scores.task_id,
        scores.dimension_id,
        scores.is_asked_for,
        count(*) as n_received,
        count(*) filter (where scores.has_several_scores) as n_contested

    from scores
    inner join rounds using (task_id, case_id, round_id)
    group by scores.task_id, scores.dimension_id, scores.is_asked_for

)

select * from received
