{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

with

rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),
results as (select * from {{ ref('promptlab', 'int_round_results') }}),
round_scores as (select * from {{ ref('promptlab', 'int_round_scores') }} where score is not null),
dimensions as (select * from {{ ref('promptlab', 'int_dimension_weights') }} where weight_used > 0),

-- where rounds pass or fail the verdicts are tested, not the scores
without_verdicts as (

    select task_id

    from results
    group by task_id
    having count(*) filter (where status in ('pass', 'fail')) = 0

),

shared as (

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
    where
        round_scores.task_id in (select without_verdicts.task_id from without_verdicts)
        and not rounds.is_error

),

weighed as (

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

    from shared
    group by task_id, case_id, round_id

),

scored as (

    select

        ---------- ids
        weighed.task_id,
        weighed.case_id,
        weighed.round_id,

        ---------- strings
        weighed.dimensions_hash,

        ---------- numerics
        row_number() over (
            partition by weighed.task_id, weighed.case_id
            order by rounds.run_index nulls last, weighed.round_id
        ) as place,
        weighed.score

    from weighed
    inner join rounds using (task_id, case_id, round_id)
    -- a mean over fewer dimensions is another number
    where weighed.n_dimensions = weighed.most_dimensions

)

select * from scored
