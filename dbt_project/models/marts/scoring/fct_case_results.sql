-- One row per task and case: its status over its rounds, its score over its dimensions and by each of
-- them, and what is missing or went wrong (`notes`).
with

results as (select * from {{ ref('promptlab', 'int_case_results') }} where {{ in_this_build() }}),
cases as (select * from {{ ref('promptlab', 'dim_cases') }} where {{ in_this_build() }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
case_scores as (select * from {{ ref('promptlab', 'int_case_scores') }} where {{ in_this_build() }}),
matches as (select * from {{ ref('promptlab', 'int_match_results') }} where status <> 'pass'),
errors as (select * from {{ ref('promptlab', 'int_round_results') }} where error_code is not null),

by_dimension as (

    select
        results.task_id,
        results.case_id,
        dimensions.dimension_id,
        dimensions.dimension_position,
        case_scores.score,
        case when case_scores.score is null then coalesce(case_scores.reason, 'no_rounds') end
            as reason

    from results
    inner join dimensions using (task_id)
    left join case_scores using (task_id, case_id, dimension_id)

),

scored as (

    select
        task_id,
        case_id,
        {{ json_map_of('dimension_id', 'round(score, 6)', 'dimension_position') }}
            as dimension_scores

    from by_dimension
    group by task_id, case_id

),

unscored as (

    select
        task_id,
        case_id,
        {{ json_map_of('dimension_id', 'reason', 'dimension_position') }} as reasons

    from by_dimension
    where reason is not null
    group by task_id, case_id

),

failed as (

    select
        task_id,
        case_id,
        {{ json_list_of(
            'distinct left(error_code, 200)', 'left(error_code, 200)', at_most=5
        ) }} as error_codes

    from errors
    group by task_id, case_id

),

mismatched as (

    select
        task_id,
        case_id,
        {{ json_list_of(
            "distinct coalesce(step_id, scope)", "coalesce(step_id, scope)", "status = 'fail'", 20
        ) }} as failed_scopes,
        {{ json_list_of(
            "distinct coalesce(step_id, scope)", "coalesce(step_id, scope)",
            "status = 'unevaluated'", 20
        ) }} as unevaluated_scopes

    from matches
    group by task_id, case_id

),

final as (

    select

        ---------- ids
        results.task_id,
        results.case_id,

        ---------- strings
        results.status,

        ---------- numerics
        results.aggregated_score,
        results.n_rounds,
        results.n_rounds_passed,

        ---------- booleans
        results.must_have_pass,
        results.reported_must_have_pass,

        ---------- json
        coalesce(scored.dimension_scores, cast('{}' as json)) as dimension_scores,
        json_object(
            'rounds_failed', results.n_rounds_failed,
            'rounds_in_error', results.n_rounds_in_error,
            'rounds_unevaluated', results.n_rounds_unevaluated,
            'error_codes', cast(coalesce(failed.error_codes, cast('[]' as json)) as json),
            'failed_scopes', cast(coalesce(mismatched.failed_scopes, cast('[]' as json)) as json),
            'unevaluated_scopes', cast(
                coalesce(mismatched.unevaluated_scopes, cast('[]' as json)) as json
            ),
            'unscored', cast(coalesce(unscored.reasons, cast('{}' as json)) as json),
            'in_testset', cases.in_testset
        ) as notes

    from results
    inner join cases using (task_id, case_id)
    left join scored using (task_id, case_id)
    left join unscored using (task_id, case_id)
    left join failed using (task_id, case_id)
    left join mismatched using (task_id, case_id)

)

select * from final
