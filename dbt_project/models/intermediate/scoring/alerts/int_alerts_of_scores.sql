{{ config(materialized=view_of_step()) }}

with

received as (select * from {{ ref('int_scores_counted') }}),
dimensions as (select * from {{ ref('int_dimensions_resolved') }}),
tasks as (select * from {{ ref('int_task_results') }}),

used as (

    select
        received.*,
        tasks.n_rounds,
        dimensions.scorer,
        dimensions.is_judged

    from received
    inner join tasks using (task_id)
    left join dimensions
        on
            received.task_id = dimensions.task_id
            and received.dimension_id = dimensions.dimension_id
            and received.is_asked_for

),

alerts as (

    select

        ---------- ids
        task_id,
        dimension_id,

        ---------- strings
        case
            when not is_asked_for then 'scores_without_dimension'
            when is_judged then 'several_scorers'
            else 'scores_ignored'
        end as code,

        ---------- numerics
        cast(null as double) as value,
        cast(null as double) as limit_value,
        cast(null as string) as unit,
        case when is_judged then n_contested else n_received end as n,
        n_rounds as n_total,
        cast(null as string) as reason,
        case when is_asked_for then scorer end as detail,
        n_cases,

        ---------- json
        case_ids

    from used

)

select * from alerts
where n > 0
