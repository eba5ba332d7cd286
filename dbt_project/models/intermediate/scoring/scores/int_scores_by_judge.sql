with

dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
scores as (select * from {{ ref('promptlab', 'stg_scores__scores') }} where {{ in_this_build() }}),
chosen as (select * from {{ ref('promptlab', 'int_scores_chosen') }}),

-- the newest score of each scorer, given to a dimension or to the scorer that it names
given as (

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
        given.task_id,
        given.case_id,
        given.round_id,
        given.dimension_id,
        concat_ws(' ', given.scorer, given.scorer_version) as judge,
        json_extract_string(given.payload, '$.position') as place,
        given.score,
        chosen.task_id is not null as is_used

    from given
    left join chosen
        on
            given.task_id = chosen.task_id
            and given.case_id = chosen.case_id
            and given.round_id = chosen.round_id
            and given.dimension_id = chosen.dimension_id
            and given.scorer = chosen.given_by
            and given.scorer_version is not distinct from chosen.given_by_version

)

select * from by_judge
