-- One row per round, dimension and scorer from outside (a file of scores): its newest score, whether it is the one that
-- counts, and of a judge of pairs whether it saw the answer `first` or `second` (`answer_position`).
with

dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
scores as (select * from {{ ref('promptlab', 'stg_scores__scores') }} where {{ in_this_build() }}),
chosen as (select * from {{ ref('promptlab', 'int_scores_chosen') }}),

-- the newest score by each scorer, of a dimension or of the scorer that it names
newest_scores as (

    select
        scores.task_id,
        scores.case_id,
        scores.round_id,
        coalesce(dimensions.dimension_id, scores.dimension_id) as dimension_id,
        scores.scorer,
        scores.scorer_version,
        scores.payload,
        scores.score / scores.scale as score

    from scores
    left join dimensions
        on
            scores.task_id = dimensions.task_id
            and scores.dimension_id = dimensions.scores_from
    qualify row_number() over (
        partition by
            scores.task_id, scores.case_id, scores.round_id,
            coalesce(dimensions.dimension_id, scores.dimension_id),
            concat_ws(' ', scores.scorer, scores.scorer_version)
        order by
            case when dimensions.dimension_id is null then 1 else 0 end,
            scores.load_id desc,
            scores.line_number desc
    ) = 1

),

by_judge as (

    select
        newest_scores.task_id,
        newest_scores.case_id,
        newest_scores.round_id,
        newest_scores.dimension_id,
        concat_ws(' ', newest_scores.scorer, newest_scores.scorer_version) as judge,
        json_extract_string(newest_scores.payload, '$.position') as answer_position,
        newest_scores.score,
        chosen.task_id is not null as is_used

    from newest_scores
    left join chosen
        on
            newest_scores.task_id = chosen.task_id
            and newest_scores.case_id = chosen.case_id
            and newest_scores.round_id = chosen.round_id
            and newest_scores.dimension_id = chosen.dimension_id
            and newest_scores.scorer = chosen.scored_by
            and newest_scores.scorer_version is not distinct from chosen.scored_by_version

)

select * from by_judge
