{{ config(materialized=view_of_step()) }}

-- The weight that a dimension really has: scored ones share what was configured; the
-- used weights of a task sum to 1, or are all 0.
with

dimensions as (select * from {{ ref('int_dimensions_resolved') }}),
centres as (select * from {{ ref('int_dimension_centres') }}),

configured as (

    select
        dimensions.task_id,
        dimensions.dimension_id,
        dimensions.weight_configured,
        centres.score,
        case when centres.score is not null then dimensions.weight_configured else 0 end
            as weight_scored

    from dimensions
    inner join centres using (task_id, dimension_id)

),

weighed as (

    select
        *,
        {{ exact_sum('weight_scored', 'over (partition by task_id)') }} as task_weight_scored,
        {{ exact_sum('weight_configured', 'over (partition by task_id)') }}
            as task_weight_configured,
        coalesce(weight_scored / nullif(task_weight_scored, 0), 0) as weight_used

    from configured

)

select * from weighed
