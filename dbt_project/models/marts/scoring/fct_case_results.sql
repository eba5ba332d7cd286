with

cases as (select * from {{ ref('dim_cases') }} where {{ in_this_build() }}),
dimensions as (select * from {{ ref('int_dimensions_resolved') }}),
weights as (select * from {{ ref('int_dimension_weights') }}),
case_scores as (select * from {{ ref('int_case_scores') }} where {{ in_this_build() }}),
rounds as (select * from {{ ref('fct_rounds') }} where {{ in_this_build() }}),
matches as (select * from {{ ref('fct_match_results') }} where {{ in_this_build() }}),

by_dimension as (

    select
        cases.task_id,
        cases.case_id,
        dimensions.dimension_id,
        dimensions.dimension_position,
        case_scores.score,
        case when case_scores.score is null then coalesce(case_scores.reason, 'no_rounds') end
            as reason,
        case when case_scores.score is not null then weights.weight_used end as weight

    from cases
    inner join dimensions on cases.task_id = dimensions.task_id
    inner join weights
        on
            dimensions.task_id = weights.task_id
            and dimensions.dimension_id = weights.dimension_id
    left join case_scores
        on
            cases.task_id = case_scores.task_id
            and cases.case_id = case_scores.case_id
            and dimensions.dimension_id = case_scores.dimension_id

),

scored as (

    select
        task_id,
        case_id,
        {{ json_map_of('dimension_id', rounded('score'), 'dimension_position') }}
            as dimension_scores,
        {{ json_map_of(
            'dimension_id', 'reason', 'dimension_position', 'reason is not null'
        ) }} as unscored,
        {{ rounded(
            exact_sum('weight * score') ~ ' / nullif(' ~ exact_sum('weight') ~ ', 0)'
        ) }} as aggregated_score

    from by_dimension
    group by task_id, case_id

),

counted as (

    select
        task_id,
        case_id,
        count(*) as n_rounds,
        count(*) filter (where status = 'pass') as n_rounds_passed,
        count(*) filter (where status = 'fail') as n_rounds_failed,
        count(*) filter (where status = 'error') as n_rounds_in_error,
        count(*) filter (where status = 'unevaluated') as n_rounds_unevaluated,
        bool_and(must_have_pass) as must_have_pass,
        bool_and(reported_must_have_pass) as reported_must_have_pass,
        {{ json_list_of(
            'distinct left(error_code, 200)', 'left(error_code, 200)', 'error_code is not null', 5
        ) }} as error_codes

    from rounds
    group by task_id, case_id

),

failed_scopes as (

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
    where status <> 'pass'
    group by task_id, case_id

),

final as (

    select

        ---------- ids
        cases.task_id,
        cases.case_id,

        ---------- strings
        case
            when coalesce(counted.n_rounds, 0) = 0 then 'unevaluated'
            when counted.n_rounds_in_error = counted.n_rounds then 'error'
            when counted.n_rounds_failed + counted.n_rounds_in_error > 0 then 'fail'
            when counted.n_rounds_unevaluated > 0 then 'unevaluated'
            else 'pass'
        end as status,

        ---------- numerics
        scored.aggregated_score,
        coalesce(counted.n_rounds, 0) as n_rounds,
        coalesce(counted.n_rounds_passed, 0) as n_rounds_passed,

        ---------- booleans
        counted.must_have_pass,
        counted.reported_must_have_pass,

        ---------- json
        coalesce(scored.dimension_scores, {{ as_json("'{}'") }}) as dimension_scores,
        {{ json_object_of({
            'rounds_failed': 'coalesce(counted.n_rounds_failed, 0)',
            'rounds_in_error': 'coalesce(counted.n_rounds_in_error, 0)',
            'rounds_unevaluated': 'coalesce(counted.n_rounds_unevaluated, 0)',
            'error_codes': "coalesce(counted.error_codes, " ~ as_json("'[]'") ~ ")",
            'failed_scopes': "coalesce(failed_scopes.failed_scopes, " ~ as_json("'[]'") ~ ")",
            'unevaluated_scopes': "coalesce(failed_scopes.unevaluated_scopes, " ~ as_json("'[]'") ~ ")",
            'unscored': "coalesce(scored.unscored, " ~ as_json("'{}'") ~ ")",
            'in_testset': 'cases.in_testset',
        }, ['error_codes', 'failed_scopes', 'unevaluated_scopes', 'unscored']) }} as notes

    from cases
    left join scored using (task_id, case_id)
    left join counted using (task_id, case_id)
    left join failed_scopes using (task_id, case_id)

)

select * from final
