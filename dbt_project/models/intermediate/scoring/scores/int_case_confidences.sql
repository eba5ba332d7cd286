{{ config(materialized=view_of_step()) }}

-- How much a case counts in a weighted mean: the highest confidence of its golden
-- answers; no confidence is full confidence.
with

baselines as (
    select * from {{ ref('stg_tasks__baselines') }}
    where {{ in_this_build() }} and baseline_type = 'golden_answer'
),

confidences as (

    select
        task_id,
        case_id,
        max(coalesce(confidence, 1)) as confidence

    from baselines
    group by task_id, case_id

)

select * from confidences
