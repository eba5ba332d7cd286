{{ config(materialized=view_of_step()) }}

-- Alerts about dimensions that cannot be scored as they were asked for, and about outside
-- scores that were not used as somebody may think. The dimensions of the seed ask for no
-- target, so that none is missed.
with

dimensions as (select * from {{ ref('int_dimensions_resolved') }}),
centres as (select * from {{ ref('int_dimension_centres') }}),
metrics as (select * from {{ ref('int_dimension_metrics') }}),
reasons as (select * from {{ ref('score_reasons') }}),
scores as (select * from {{ ref('int_scores_chosen') }}),
rounds as (select * from {{ ref('stg_tasks__rounds') }} where {{ in_this_build() }}),
case_scores as (select * from {{ ref('int_case_scores') }} where {{ in_this_build() }}),

received as (

    select
        scores.task_id,
        scores.dimension_id,
        scores.is_asked_for,
        count(*) as n_received,
        count(*) filter (where scores.has_several_scorers) as n_contested,
        count(distinct scores.case_id) as n_cases,
        {{ json_list_of('distinct scores.case_id', 'scores.case_id') }} as case_ids

    from scores
    inner join rounds using (task_id, case_id, round_id)
    group by scores.task_id, scores.dimension_id, scores.is_asked_for

),

task_rounds as (

    select
        task_id,
        count(*) as n_rounds

    from rounds
    group by task_id

),

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

described as (

    select
        dimensions.*,
        centres.score,
        centres.n_cases,
        centres.has_unequal_confidences,
        metrics.n_rounds,
        metrics.n_scored_rounds,
        cases.n_unscored,
        cases.unscored,
        cases.n_unsure,
        cases.unsure,
        received.n_received,
        received.n_contested,
        received.n_cases as n_cases_received,
        received.case_ids as cases_received,
        dimensions.scorer = 'accuracy' and dimensions.match_rule = 'semantic' as is_semantic,
        dimensions.scorer_kind = 'outside' or dimensions.scorer = 'judge' or is_semantic
            as is_judged,
        case
            when centres.score is null and metrics.n_scored_rounds > 0
                then case when centres.n_cases = 0 then 'too_few_rounds' else 'no_confidence' end
            else metrics.unscored_reason
        end as unscored_reason

    from dimensions
    inner join centres using (task_id, dimension_id)
    inner join metrics using (task_id, dimension_id)
    left join cases using (task_id, dimension_id)
    left join received
        on
            dimensions.task_id = received.task_id
            and dimensions.dimension_id = received.dimension_id
            and received.is_asked_for

),

problems as (

    -- one cause, one alert
    select
        described.task_id,
        described.dimension_id,
        case
            when described.problem is not null then described.problem
            when described.target_warning is not null then 'invalid_target'
            when described.is_semantic and described.n_received is null
                then 'semantic_without_scores'
            else 'unscored_dimension'
        end as code,
        described.n_scored_rounds as n,
        described.n_rounds as n_total,
        case
            when described.problem is not null then described.problem_detail
            when code = 'semantic_without_scores'
                then described.task_id || ' --dimension ' || described.dimension_id
            else reasons.reason_text
        end as detail,
        case
            when described.problem is not null then described.problem_detail
            when code = 'semantic_without_scores'
                then described.task_id || ' --dimension ' || described.dimension_id
            else reasons.reason_text_en
        end as detail_en,
        described.n_unscored as n_cases,
        described.unscored as case_ids

    from described
    left join reasons
        on coalesce(described.target_warning, described.unscored_reason) = reasons.reason
    where
        not described.is_default
        and (
            described.problem is not null
            or described.target_warning is not null
            or described.score is null
        )

),

outside_scores as (

    select
        task_id,
        dimension_id,
        case when is_judged then 'several_scorers' else 'scores_ignored' end as code,
        case when is_judged then n_contested else n_received end as n,
        n_rounds as n_total,
        scorer as detail,
        scorer as detail_en,
        n_cases_received as n_cases,
        cases_received as case_ids

    from described
    where case when is_judged then n_contested else n_received end > 0

),

unasked_scores as (

    select
        received.task_id,
        received.dimension_id,
        'scores_without_dimension' as code,
        received.n_received as n,
        task_rounds.n_rounds as n_total,
        cast(null as string) as detail,
        cast(null as string) as detail_en,
        received.n_cases,
        received.case_ids

    from received
    inner join task_rounds using (task_id)
    where not received.is_asked_for

),

unweighted as (

    select
        task_id,
        dimension_id,
        'confidences_differ' as code,
        n_unsure as n,
        n_cases as n_total,
        aggregation as detail,
        aggregation as detail_en,
        n_unsure as n_cases,
        unsure as case_ids

    from described
    where aggregation <> 'mean' and has_unequal_confidences

),

unnormed_weights as (

    select
        task_id,
        cast(null as string) as dimension_id,
        'weights_not_one' as code,
        count(*) as n,
        count(*) as n_total,
        {{ fixed_decimals('sum(weight_configured)', 2) }} as detail,
        {{ fixed_decimals('sum(weight_configured)', 2) }} as detail_en,
        0 as n_cases,
        {{ as_json("'[]'") }} as case_ids

    from dimensions
    where not is_default
    group by task_id
    having abs(sum(weight_configured) - 1) > 1e-6

),

alerts as (

    select * from problems

    union all

    select * from outside_scores

    union all

    select * from unasked_scores

    union all

    select * from unweighted

    union all

    select * from unnormed_weights

)

select
    task_id,
    dimension_id,
    code,
    cast(null as double) as value,
    cast(null as double) as limit_value,
    cast(null as string) as unit,
    n,
    n_total,
    detail,
    detail_en,
    coalesce(n_cases, 0) as n_cases,
    coalesce(case_ids, {{ as_json("'[]'") }}) as case_ids
from alerts
