{{ config(materialized=view_of_step()) }}

-- One row per score from outside SQL: of files of scores, and of tools whose files say
-- what they gave.
with

scores as (

    select * from {{ ref('stg_scores__scores') }}
    where {{ in_this_build() }}

),

reported as (

    select * from {{ ref('stg_reported__scores') }}
    where {{ in_this_build() }}

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
        load_id,
        task_id,
        case_id,
        round_id,
        dimension_id,
        'reported' as scorer,
        cast(null as string) as scorer_version,
        cast(0 as bigint) as line_number,
        score,
        cast(1 as double) as scale,
        summary,
        payload

    from reported

)

select * from received
