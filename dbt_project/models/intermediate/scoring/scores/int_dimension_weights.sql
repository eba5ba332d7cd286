-- One row per task and dimension: its share of the overall score, which dimensions without scores have no part in.
with

dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
case_scores as (select * from {{ ref('promptlab', 'int_case_scores') }} where {{ in_this_build() }}),

counted as (

    select
        task_id,
        dimension_id,
        count(score) as n_scored_cases,
        sum(case when score is not null then confidence end) as sum_of_confidences

    from case_scores
    group by task_id, dimension_id

),

-- a mean has to have something to weigh; any other aggregation a case
scored as (

    select
        dimensions.task_id,
        dimensions.dimension_id,
        dimensions.weight_configured,
        case
            when dimensions.aggregation = 'mean' and counted.sum_of_confidences > 0
                then dimensions.weight_configured
            when dimensions.aggregation <> 'mean' and counted.n_scored_cases > 0
                then dimensions.weight_configured
            else 0
        end as weight_scored

    from dimensions
    left join counted using (task_id, dimension_id)

),

weighed as (

    select
        *,
        {{ exact_sum('weight_scored', 'over (partition by task_id)') }} as task_weight_scored,
        {{ exact_sum('weight_configured', 'over (partition by task_id)') }}
            as task_weight_configured,
        coalesce(weight_scored / nullif(task_weight_scored, 0), 0) as weight_used

    from scored

)

select * from weighed
