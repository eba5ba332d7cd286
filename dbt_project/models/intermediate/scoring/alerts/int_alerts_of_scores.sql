{{ config(materialized=view_of_step()) }}

-- One row per task, dimension and alert (`code`) about outside scores: of several scorers, or not used.
with

received as (select * from {{ ref('promptlab', 'int_scores_counted') }}),
scores as (select * from {{ ref('promptlab', 'int_scores_chosen') }}),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
tasks as (select * from {{ ref('promptlab', 'int_task_results') }}),

used as (

    select
        received.task_id,
        received.dimension_id,
        received.is_asked_for,
        case
            when not received.is_asked_for then 'scores_without_dimension'
            when dimensions.is_judged then 'several_scorers'
            else 'scores_ignored'
        end as code,
        case when dimensions.is_judged then received.n_contested else received.n_received end
            as n,
        tasks.n_rounds as n_total,
        case when received.is_asked_for then dimensions.scorer end as detail

    from received
    inner join tasks using (task_id)
    left join dimensions
        on
            received.task_id = dimensions.task_id
            and received.dimension_id = dimensions.dimension_id
            and received.is_asked_for

),

concerned as (select * from used where n > 0),

-- only of those, as a memory run has scores of every case
listed as (

    select
        scores.task_id,
        scores.dimension_id,
        scores.is_asked_for,
        count(distinct scores.case_id) as n_cases,
        {{ json_list_of('distinct scores.case_id', 'scores.case_id') }} as case_ids

    from scores
    inner join concerned using (task_id, dimension_id, is_asked_for)
    inner join rounds using (task_id, case_id, round_id)
    group by scores.task_id, scores.dimension_id, scores.is_asked_for

),

alerts as (

    select

        ---------- ids
        concerned.task_id,
        concerned.dimension_id,

        ---------- strings
        concerned.code,

        ---------- numerics
        cast(null as double) as value,
        cast(null as double) as limit_value,
        cast(null as string) as unit,
        concerned.n,
        concerned.n_total,
        cast(null as string) as reason,
        concerned.detail,
        listed.n_cases,

        ---------- json
        listed.case_ids

    from concerned
    inner join listed using (task_id, dimension_id, is_asked_for)

)

select * from alerts
