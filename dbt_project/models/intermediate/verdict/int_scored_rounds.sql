{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per round with a score, of tasks in which no round passes or fails: their verdict is over
-- scores. Rounds that have fewer dimensions than others of the case are left out.
with

rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),
results as (select * from {{ ref('promptlab', 'int_round_results') }}),
round_scores as (select * from {{ ref('promptlab', 'int_round_scores') }} where score is not null),
weights as (select * from {{ ref('promptlab', 'int_dimension_weights') }} where weight_used > 0),

-- where rounds pass or fail the verdicts are tested, not the scores
tasks_without_verdicts as (

    select task_id

    from results
    group by task_id
    having count(*) filter (where status in ('pass', 'fail')) = 0

),

-- most builds have none: no dimensions, so that no scores are read
dimensions as (

    select weights.*

    from weights
    inner join tasks_without_verdicts using (task_id)

),

weighted_scores as (

    select
        round_scores.task_id,
        round_scores.case_id,
        round_scores.round_id,
        round_scores.dimension_id,
        round_scores.exact_score,
        dimensions.weight_used,
        round(
            dimensions.weight_used / {{ exact_sum(
                'dimensions.weight_used',
                'over (partition by round_scores.task_id, round_scores.case_id, round_scores.round_id)'
            ) }},
            6
        ) as share

    from round_scores
    inner join dimensions using (task_id, dimension_id)
    inner join rounds using (task_id, case_id, round_id)
    where not rounds.is_error

),

round_means as (

    select
        task_id,
        case_id,
        round_id,
        count(*) as n_dimensions,
        max(count(*)) over (partition by task_id, case_id) as most_dimensions,
        md5(string_agg(dimension_id || ' ' || cast(share as string), ', ' order by dimension_id))
            as dimensions_hash,
        round(
            {{ exact_sum('weight_used * exact_score') }} / {{ exact_sum('weight_used') }}, 9
        ) as score

    from weighted_scores
    group by task_id, case_id, round_id

),

scored as (

    select

        ---------- ids
        task_id,
        case_id,
        round_id,

        ---------- strings
        dimensions_hash,

        ---------- numerics
        score

    from round_means
    -- a mean over fewer dimensions is another number
    where n_dimensions = most_dimensions

)

select * from scored
