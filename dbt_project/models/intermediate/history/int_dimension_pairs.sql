with

pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
dimensions as (
    select * from {{ ref('promptlab', 'int_dimension_contents') }}
    where
        task_id in (select pairs.baseline_task_id from pairs)
        or task_id in (select pairs.candidate_task_id from pairs)
),

of_baselines as (

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        dimensions.*

    from pairs
    inner join dimensions on pairs.baseline_task_id = dimensions.task_id

),

of_candidates as (

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
        coalesce(of_candidates.name, of_baselines.name) as name,
        case
            when of_baselines.task_id is null then 'dimension_added'
            when of_candidates.task_id is null then 'dimension_removed'
            else {{ dimension_difference('of_candidates', 'of_baselines') }}
        end as reason,

        ---------- numerics
        coalesce(of_candidates.dimension_position, 1000 + of_baselines.dimension_position)
            as dimension_position,
        coalesce(of_candidates.weight_configured, 0) as weight,
        of_baselines.weight_configured as baseline_weight,

        ---------- booleans
        -- a limit of the baseline that is gone, or that is easier to keep to
        of_candidates.task_id is not null and (
            of_baselines.lower_limit is not null
            and not coalesce(of_candidates.lower_limit >= of_baselines.lower_limit, false)
            or of_baselines.upper_limit is not null
            and not coalesce(of_candidates.upper_limit <= of_baselines.upper_limit, false)
            or of_baselines.min_score is not null
            and not coalesce(of_candidates.min_score >= of_baselines.min_score, false)
            or of_baselines.max_score is not null
            and not coalesce(of_candidates.max_score <= of_baselines.max_score, false)
            or of_baselines.max_variance is not null
            and not coalesce(of_candidates.max_variance <= of_baselines.max_variance, false)
        ) as is_target_looser,
        coalesce(of_candidates.has_verdict, false) as has_verdict,
        coalesce(of_baselines.has_verdict, false) as baseline_has_verdict,
        coalesce(
            of_baselines.lower_limit,
            of_baselines.upper_limit,
            of_baselines.min_score,
            of_baselines.max_score,
            of_baselines.max_variance
        ) is not null as baseline_has_target

    from of_candidates
    full outer join of_baselines using (baseline_task_id, candidate_task_id, dimension_id)

)

select * from paired
