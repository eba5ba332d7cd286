-- One row per compared pair of tasks and dimension of either: `reason` says why its scores are not compared,
-- null if they are.
with

pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
dimensions as (
    select * from {{ ref('promptlab', 'int_dimension_contents') }}
    where
        task_id in (select pairs.baseline_task_id from pairs)
        or task_id in (select pairs.candidate_task_id from pairs)
),

baseline_dimensions as (

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        dimensions.*

    from pairs
    inner join dimensions on pairs.baseline_task_id = dimensions.task_id

),

candidate_dimensions as (

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        dimensions.*

    from pairs
    inner join dimensions on pairs.candidate_task_id = dimensions.task_id

),

paired as (

    select

        ---------- ids
        baseline_task_id,
        candidate_task_id,
        dimension_id,

        ---------- strings
        coalesce(candidate_dimensions.name, baseline_dimensions.name) as name,
        case
            when baseline_dimensions.task_id is null then 'dimension_added'
            when candidate_dimensions.task_id is null then 'dimension_removed'
            else {{ dimension_difference('candidate_dimensions', 'baseline_dimensions') }}
        end as reason,

        ---------- numerics
        -- removed ones come last
        coalesce(candidate_dimensions.dimension_position, 1000 + baseline_dimensions.dimension_position)
            as dimension_position,
        coalesce(candidate_dimensions.weight_configured, 0) as weight,
        baseline_dimensions.weight_configured as baseline_weight

    from candidate_dimensions
    full outer join baseline_dimensions using (baseline_task_id, candidate_task_id, dimension_id)

)

select * from paired
