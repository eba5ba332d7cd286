-- One row per round and dimension with scores from outside SQL: the one that counts.
with

scores as (select * from {{ ref('promptlab', 'int_scores_received') }}),
loads as (select * from {{ ref('promptlab', 'stg_loads__loads') }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),

offered as (

    select
        scores.task_id,
        scores.case_id,
        scores.round_id,
        coalesce(dimensions.dimension_id, scores.dimension_id) as dimension_id,
        dimensions.dimension_id is not null as is_asked_for,
        scores.load_id,
        scores.scorer as scored_by,
        scores.scorer_version as scored_by_version,
        scores.summary,
        scores.payload,
        scores.score,
        case when scores.score between 0 and scores.scale then scores.score / scores.scale end
            as metric,
        row_number() over (
            partition by
                scores.task_id, scores.case_id, scores.round_id,
                scores.dimension_id, dimensions.dimension_id
            order by
                -- what a tool gave to its own dimensions
                case when scores.scorer in ('reported', 'memory') then 0 else 1 end,
                loads.finished_at desc nulls last,
                scores.load_id desc,
                scores.line_number desc
        ) as choice,
        -- of several scorers, or of one in several files that disagree
        min(scores.scorer) over in_round <> max(scores.scorer) over in_round
        and dimensions.scorer_name is null
        or min(scores.load_id) over in_round <> max(scores.load_id) over in_round
        and coalesce(min(scores.score) over in_round <> max(scores.score) over in_round, false)
            as has_several_scores

    from scores
    left join loads using (load_id)
    left join dimensions
        on
            scores.task_id = dimensions.task_id
            and scores.dimension_id = dimensions.scores_from
    where dimensions.scorer_name is null or scores.scorer = dimensions.scorer_name
    window in_round as (
        partition by
            scores.task_id, scores.case_id, scores.round_id,
            scores.dimension_id, dimensions.dimension_id
    )

),

chosen as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        load_id,
        scored_by,
        scored_by_version,
        summary,
        metric,
        case
            when score is null then 'scorer_could_not_judge'
            when metric is null then 'score_out_of_scale'
        end as reason,
        has_several_scores,
        is_asked_for,
        payload

    from offered
    where choice = 1

)

select * from chosen
