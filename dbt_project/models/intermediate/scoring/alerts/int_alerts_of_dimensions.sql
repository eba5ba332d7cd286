{{ config(materialized=view_of_step()) }}

-- One row per task and alert (`code`) about a dimension that cannot be scored as configured, or whose weights
-- or confidences mislead.
with

dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
scores as (select * from {{ ref('promptlab', 'int_dimension_scores') }}),
outside_scores as (select * from {{ ref('promptlab', 'int_scores_counted') }}),
case_scores as (select * from {{ ref('promptlab', 'int_case_scores') }} where {{ in_this_build() }}),

cases as (

    select
        task_id,
        dimension_id,
        count(*) filter (where score is null) as n_unscored,
        {{ json_list_of('case_id', 'case_id', 'score is null') }} as unscored,
        count(*) filter (where confidence <> 1) as n_unsure,
        {{ json_list_of('case_id', 'confidence, case_id', 'confidence <> 1') }} as unsure

    from case_scores
    group by task_id, dimension_id

),

-- the dimensions of the seed are defaults, so none of them can be missing
asked_for as (

    select
        dimensions.*,
        scores.score,
        scores.n_scored_cases,
        scores.n_rounds,
        scores.n_scored_rounds,
        scores.has_unequal_confidences,
        cases.n_unscored,
        cases.unscored,
        cases.n_unsure,
        cases.unsure,
        -- one cause, one alert
        case
            when dimensions.is_default then null
            when dimensions.problem is not null then dimensions.problem
            when dimensions.target_warning is not null then 'invalid_target'
            when scores.score is not null then null
            when
                dimensions.scorer = 'accuracy'
                and dimensions.match_rule = 'semantic'
                and outside_scores.n_received is null
                then 'semantic_without_scores'
            else 'unscored_dimension'
        end as code,
        coalesce(dimensions.target_warning, scores.unscored_reason) as reason

    from dimensions
    inner join scores using (task_id, dimension_id)
    left join cases using (task_id, dimension_id)
    left join outside_scores
        on
            dimensions.task_id = outside_scores.task_id
            and dimensions.dimension_id = outside_scores.dimension_id
            and outside_scores.is_asked_for

),

alerts as (

    select
        task_id,
        dimension_id,
        code,
        cast(null as double) as value,
        cast(null as double) as limit_value,
        cast(null as string) as unit,
        n_scored_rounds as n,
        n_rounds as n_total,
        reason,
        problem_detail as detail,
        n_unscored as n_cases,
        unscored as case_ids

    from asked_for
    where code is not null

    union all

    select
        task_id,
        dimension_id,
        'confidences_differ' as code,
        null as value,
        null as limit_value,
        null as unit,
        n_unsure as n,
        n_scored_cases as n_total,
        null as reason,
        aggregation as detail,
        n_unsure as n_cases,
        unsure as case_ids

    from asked_for
    where aggregation <> 'mean' and has_unequal_confidences

    union all

    select
        task_id,
        cast(null as string) as dimension_id,
        'weights_not_one' as code,
        round(sum(weight_configured), 6) as value,
        1 as limit_value,
        'sum' as unit,
        count(*) as n,
        count(*) as n_total,
        null as reason,
        null as detail,
        0 as n_cases,
        cast('[]' as json) as case_ids

    from asked_for
    where not is_default
    group by task_id
    having abs(sum(weight_configured) - 1) > 1e-6

)

select
    task_id,
    dimension_id,
    code,
    value,
    limit_value,
    unit,
    n,
    n_total,
    reason,
    detail,
    coalesce(n_cases, 0) as n_cases,
    coalesce(case_ids, cast('[]' as json)) as case_ids
from alerts
