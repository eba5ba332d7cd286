-- Who scored a dimension from outside, with the version: two judges are two scales.
with

dimensions as (

    select * from {{ ref('int_dimensions_resolved') }}
    where
        scorer_kind = 'outside'
        or scorer = 'judge'
        or scorer = 'accuracy' and match_rule = 'semantic'

),

scores as (

    select * from {{ ref('int_scores_chosen') }}

),

judges as (

    select distinct
        scores.task_id,
        scores.dimension_id,
        scores.given_by || coalesce(' ' || scores.given_by_version, '') as judge

    from scores
    inner join dimensions
        on
            scores.task_id = dimensions.task_id
            and scores.dimension_id = dimensions.dimension_id

),

joined as (

    select
        task_id,
        dimension_id,
        string_agg(judge, ', ' order by judge) as judges

    from judges
    group by task_id, dimension_id

)

select * from joined
