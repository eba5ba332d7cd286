-- The rounds that were scored on a dimension whose weight is used.
with

round_scores as (select * from {{ ref('fct_round_scores') }} where {{ in_this_build() }}),
weights as (select * from {{ ref('int_dimension_weights') }}),

scored_rounds as (

    select distinct
        round_scores.task_id,
        round_scores.case_id,
        round_scores.round_id

    from round_scores
    inner join weights using (task_id, dimension_id)
    where round_scores.score is not null and weights.weight_used > 0

)

select * from scored_rounds
