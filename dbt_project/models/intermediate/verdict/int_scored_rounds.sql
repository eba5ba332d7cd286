{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

with

rounds as (select * from {{ ref('int_rounds_prepared') }}),
results as (select * from {{ ref('int_round_results') }}),
round_scores as (select * from {{ ref('int_round_scores') }} where score is not null),
dimensions as (select * from {{ ref('int_dimension_weights') }} where weight_used > 0),

-- where rounds pass or fail the verdicts are tested, not the scores
without_verdicts as (

    select task_id

    from results
    group by task_id
    having count(*) filter (where status in ('pass', 'fail')) = 0

),

weighed as (

    select
        round_scores.task_id,
        round_scores.case_id,
        round_scores.round_id,
        {{ rounded(
            exact_sum('dimensions.weight_used * round_scores.exact_score')
            ~ ' / ' ~ exact_sum('dimensions.weight_used'), 9
        ) }} as score

    from round_scores
    inner join dimensions using (task_id, dimension_id)
    where round_scores.task_id in (select without_verdicts.task_id from without_verdicts)
    group by round_scores.task_id, round_scores.case_id, round_scores.round_id

),

scored as (

    select

        ---------- ids
        weighed.task_id,
        weighed.case_id,
        weighed.round_id,

        ---------- numerics
        row_number() over (
            partition by weighed.task_id, weighed.case_id
            order by rounds.run_index nulls last, weighed.round_id
        ) as place,
        weighed.score

    from weighed
    inner join rounds using (task_id, case_id, round_id)
    where not rounds.is_error

)

select * from scored
