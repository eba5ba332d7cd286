{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per task and alert that needs no other task; those about its baseline task are in int_alerts_of_history.
with

facts as (

    select * from {{ ref('promptlab', 'int_alerts_of_targets') }}

    union all

    select * from {{ ref('promptlab', 'int_alerts_of_dimensions') }}

    union all

    select * from {{ ref('promptlab', 'int_alerts_of_scores') }}

    union all

    select * from {{ ref('promptlab', 'int_alerts_of_rounds') }}

    union all

    select * from {{ ref('promptlab', 'int_alerts_of_cases') }}

    union all

    select * from {{ ref('promptlab', 'int_alerts_of_files') }}

),

dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_alert_policy') }}),
severities as (select * from {{ ref('promptlab', 'promptlab_severities') }}),

rated as (

    select
        facts.*,
        coalesce(dimensions.name, facts.dimension_id) as name,
        dimensions.dimension_position,
        case
            when facts.value < policy.escalates_below * facts.limit_value
                then policy.escalated_severity
            else policy.severity
        end as severity

    from facts
    inner join policy using (code)
    left join dimensions using (task_id, dimension_id)

),

described as (

    select

        ---------- ids
        rated.task_id,

        ---------- strings
        rated.code,
        rated.severity,

        ---------- numerics
        severities.severity_rank,
        rated.dimension_position,
        rated.n_cases,

        ---------- json
        case
            when rated.dimension_id is null then cast('[]' as json)
            else to_json([rated.dimension_id])
        end as dimension_ids,
        rated.case_ids,
        json_object(
            'name', rated.name,
            'value', rated.value,
            'limit', rated.limit_value,
            'unit', rated.unit,
            'n', rated.n,
            'n_total', rated.n_total,
            'reason', rated.reason,
            'detail', rated.detail
        ) as facts

    from rated
    inner join severities using (severity)

)

select * from described
