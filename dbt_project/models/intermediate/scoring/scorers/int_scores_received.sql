{{ config(materialized=view_of_step()) }}

with

scores as (select * from {{ ref('stg_scores__scores') }} where {{ in_this_build() }}),
reported as (select * from {{ ref('stg_reported__scores') }} where {{ in_this_build() }}),
dimensions as (
    select * from {{ ref('stg_tasks__dimension_configs') }}
    where {{ in_this_build() }} and is_graded
),

received as (

    select
        load_id,
        task_id,
        case_id,
        round_id,
        dimension_id,
        scorer,
        scorer_version,
        line_number,
        score,
        scale,
        summary,
        payload

    from scores

    union all

    select
        reported.load_id,
        reported.task_id,
        reported.case_id,
        reported.round_id,
        reported.dimension_id,
        'reported' as scorer,
        cast(null as string) as scorer_version,
        cast(0 as bigint) as line_number,
        reported.score,
        cast(1 as double) as scale,
        reported.summary,
        reported.payload

    from reported
    inner join dimensions using (task_id, dimension_id)

)

select * from received
