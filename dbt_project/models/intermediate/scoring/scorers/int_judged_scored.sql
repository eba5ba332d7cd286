{{ config(materialized=view_of_step()) }}

-- One row per round and dimension that is scored outside SQL: by a judge, a tool or a scorer of the user.
with

dimensions as (
    select * from {{ ref('promptlab', 'int_dimensions_resolved') }}
    where problem is null and is_judged
),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),
scores as (select * from {{ ref('promptlab', 'int_scores_chosen') }}),

-- cases of which a round in error scores 0
scored_cases as (

    select distinct
        scores.task_id,
        scores.case_id,
        scores.dimension_id

    from scores
    inner join dimensions using (task_id, dimension_id)
    where dimensions.scorer = 'accuracy'

),

received as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        dimensions.dimension_id,
        rounds.is_error,
        scored_cases.case_id is not null as is_zero_on_error,
        -- the score that another tool gave to a round in error stays, and so does the 0 of
        -- a failed call of the memory benchmark
        dimensions.scorer in ('reported', 'memory') and scores.metric is not null
            as is_kept_on_error,
        case
            when scores.round_id is not null then scores.metric
            when dimensions.scorer = 'judge' and rounds.judge_score between 0 and 1
                then rounds.judge_score
        end as received_metric,
        case
            when scores.round_id is not null then scores.reason
            when dimensions.scorer = 'judge' and rounds.judge_score is not null
                then 'score_out_of_scale'
            else 'no_score'
        end as missing_reason,
        coalesce(scores.summary, rounds.judge_feedback) as summary,
        scores.scored_by,
        scores.scored_by_version

    from dimensions
    inner join rounds using (task_id)
    left join scores using (task_id, case_id, round_id, dimension_id)
    left join scored_cases using (task_id, case_id, dimension_id)

),

scored as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        case
            when is_error and is_zero_on_error then 0.0
            when not is_error or is_kept_on_error then received_metric
        end as metric,
        case
            when is_error and not is_kept_on_error then 'error_round'
            when received_metric is null then missing_reason
        end as reason,
        cast(null as string) as expected,
        cast(null as string) as actual,
        case
            when not is_error and received_metric < 1 then json_object(
                'summary', left(summary, 500),
                'scorer', scored_by,
                'scorer_version', scored_by_version
            )
        end as detail

    from received

)

select * from scored
