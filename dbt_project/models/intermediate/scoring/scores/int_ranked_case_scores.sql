{{ config(materialized=view_of_step()) }}

-- Case scores in their order, for the aggregations that look at ranks. `n_cut` are the
-- scores that are trimmed, or pulled in, on each side.
with

case_scores as (
    select * from {{ ref('int_case_scores') }}
    where {{ in_this_build() }} and score is not null
),
dimensions as (
    select * from {{ ref('int_dimensions_resolved') }}
    where aggregation in ('median', 'trimmed_mean', 'winsorized_mean')
),

ranked as (

    select
        case_scores.task_id,
        case_scores.dimension_id,
        dimensions.trim_share,
        case_scores.score,
        row_number() over (
            partition by case_scores.task_id, case_scores.dimension_id
            order by case_scores.score, case_scores.case_id
        ) as score_rank,
        count(*) over (
            partition by case_scores.task_id, case_scores.dimension_id
        ) as n_cases,
        {{ n_trimmed('n_cases', 'dimensions.trim_share') }} as n_cut

    from case_scores
    inner join dimensions using (task_id, dimension_id)

)

select * from ranked
