with

dimensions as (select * from {{ ref('int_dimensions_configured') }}),
typed_parameters as (select * from {{ ref('int_dimension_parameters') }}),
targets as (select * from {{ ref('int_dimension_targets') }}),
scorers as (select * from {{ ref('scorers') }}),

-- what outside scores say they are for: a dimension, or a scorer that dimensions name
received as (

    select distinct
        task_id,
        dimension_id as scores_from

    from {{ ref('int_scores_received') }}

),

joined as (

    select

        ---------- ids
        dimensions.task_id,
        dimensions.dimension_id,

        ---------- strings
        dimensions.name,
        dimensions.scoring_mode,
        typed_parameters.scorer,
        case
            when scorers.scorer is not null then 'built_in'
            when coalesce(own_scores.scores_from, named_scores.scores_from) is not null
                then 'outside'
            else 'unknown'
        end as scorer_kind,
        coalesce(own_scores.scores_from, named_scores.scores_from) as scores_from,
        cast(scorers.scorer_version as string) as scorer_version,
        coalesce(scorers.unit, 'share') as unit,
        typed_parameters.match_rule,
        typed_parameters.compare,
        typed_parameters.stability_of,
        typed_parameters.scorer_name,
        typed_parameters.reducer,
        typed_parameters.aggregation,
        targets.target_problem,
        targets.target_warning,
        concat_ws(
            ', ',
            typed_parameters.bad_parameters,
            -- stability looks at another dimension, and not at one of its own kind
            case
                when
                    typed_parameters.scorer = 'stability'
                    and coalesce(referred.scorer, 'stability') = 'stability'
                    then 'of = ' || coalesce(typed_parameters.stability_of, 'null')
            end
        ) as unusable_parameters,
        case
            when scorer_kind = 'unknown' then 'unknown_scorer'
            when unusable_parameters <> '' then 'invalid_parameters'
        end as problem,
        case when scorer_kind = 'unknown' then typed_parameters.scorer else unusable_parameters end
            as problem_detail,

        ---------- numerics
        dimensions.dimension_position,
        {{ rounded('dimensions.weight', 9) }} as weight_configured,
        typed_parameters.tolerance,
        typed_parameters.k,
        typed_parameters.pass_score,
        typed_parameters.trim_share,
        typed_parameters.input_price_per_million,
        typed_parameters.output_price_per_million,
        targets.lower_limit,
        targets.upper_limit,
        targets.min_score,
        targets.max_score,
        targets.max_variance,

        ---------- booleans
        dimensions.is_default,
        coalesce(scorers.is_share, true) as is_share,
        -- whether its scores come from outside SQL
        scorer_kind = 'outside'
        or typed_parameters.scorer = 'judge'
        or typed_parameters.scorer = 'accuracy'
        and typed_parameters.match_rule = 'semantic' as is_judged,
        -- whether its rounds pass or fail, beside their score
        typed_parameters.pass_score is not null
        or coalesce(scorers.has_verdict, false)
        and (typed_parameters.scorer <> 'accuracy' or typed_parameters.match_rule in (
            'exact', 'contains', 'regex', 'json', 'numeric'
        )) as has_verdict,

        ---------- json
        dimensions.target,
        dimensions.parameters,
        typed_parameters.required_keys,

        ---------- lists
        typed_parameters.must,
        typed_parameters.must_not

    from dimensions
    inner join typed_parameters using (task_id, dimension_id)
    inner join targets using (task_id, dimension_id)
    left join scorers on typed_parameters.scorer = scorers.scorer
    left join received as own_scores
        on
            dimensions.task_id = own_scores.task_id
            and dimensions.dimension_id = own_scores.scores_from
    left join received as named_scores
        on
            typed_parameters.task_id = named_scores.task_id
            and typed_parameters.scorer = named_scores.scores_from
            and (scorers.scorer is null or scorers.scorer = 'judge')
    left join typed_parameters as referred
        on
            typed_parameters.task_id = referred.task_id
            and typed_parameters.stability_of = referred.dimension_id

)

select * from joined
