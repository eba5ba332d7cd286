-- One row per task and dimension: how it is scored, with all defaults; `problem` says why it cannot be.
with

dimensions as (select * from {{ ref('promptlab', 'int_dimensions_configured') }}),
configs as (select * from {{ ref('promptlab', 'stg_tasks__dimension_configs') }} where {{ in_this_build() }}),
scorers as (select * from {{ ref('promptlab', 'promptlab_scorers') }}),

-- what outside scores say they are for: a dimension, or a scorer that dimensions name
received as (

    select distinct
        task_id,
        dimension_id as scores_from

    from {{ ref('promptlab', 'int_scores_received') }}

),

-- omitted fields of a dimension have defaults; a default dimension has no row here
typed as (

    select
        dimensions.*,
        coalesce(configs.match_rule, 'exact') as match_rule,
        coalesce(configs.compare, 'parsed') as compare,
        coalesce(configs.reducer, 'mean') as reducer,
        coalesce(configs.aggregation, 'mean') as aggregation,
        configs.stability_of,
        configs.scorer_name,
        configs.bad_parameters,
        configs.target_problem,
        configs.target_warning,
        coalesce(configs.tolerance, 0) as tolerance,
        coalesce(configs.k, 1) as k,
        coalesce(configs.trim_share, 0.1) as trim_share,
        case
            when dimensions.is_default
                then {{ json_number('dimensions.parameters', 'pass_score') }}
            else configs.pass_score
        end as pass_score,
        configs.input_price_per_million,
        configs.output_price_per_million,
        configs.lower_limit,
        configs.upper_limit,
        configs.min_score,
        configs.max_score,
        configs.max_variance,
        configs.required_keys,
        {{ texts_of('configs.must') }} as must,
        {{ texts_of('configs.must_not') }} as must_not

    from dimensions
    left join configs using (task_id, dimension_id)

),

joined as (

    select

        ---------- ids
        typed.task_id,
        typed.dimension_id,

        ---------- strings
        typed.name,
        typed.scoring_mode,
        typed.scorer,
        case
            when scorers.scorer is not null then 'built_in'
            when coalesce(own_scores.scores_from, named_scores.scores_from) is not null
                then 'outside'
            else 'unknown'
        end as scorer_kind,
        coalesce(own_scores.scores_from, named_scores.scores_from) as scores_from,
        cast(scorers.scorer_version as string) as scorer_version,
        coalesce(scorers.unit, 'share') as unit,
        typed.match_rule,
        typed.compare,
        typed.stability_of,
        typed.scorer_name,
        typed.reducer,
        typed.aggregation,
        -- a default dimension has no target, which only a share can do without
        case
            when typed.is_default and not coalesce(scorers.is_share, true) then 'target_missing'
            else typed.target_problem
        end as target_problem,
        case
            when typed.is_default and not coalesce(scorers.is_share, true) then 'target_missing'
            else typed.target_warning
        end as target_warning,
        case
            when scorer_kind = 'unknown' then 'unknown_scorer'
            when typed.bad_parameters is not null then 'invalid_parameters'
        end as problem,
        case when scorer_kind = 'unknown' then typed.scorer else typed.bad_parameters end
            as problem_detail,

        ---------- numerics
        typed.dimension_position,
        round(typed.weight, 9) as weight_configured,
        typed.tolerance,
        typed.k,
        typed.pass_score,
        typed.trim_share,
        typed.input_price_per_million,
        typed.output_price_per_million,
        typed.lower_limit,
        typed.upper_limit,
        typed.min_score,
        typed.max_score,
        typed.max_variance,

        ---------- booleans
        typed.is_default,
        coalesce(scorers.is_share, true) as is_share,
        -- whether its scores come from outside SQL
        scorer_kind = 'outside'
        or typed.scorer = 'judge'
        or typed.scorer = 'accuracy'
        and typed.match_rule = 'semantic' as is_judged,
        -- true if its rounds pass or fail in addition to their score
        typed.pass_score is not null
        or coalesce(scorers.has_verdict, false)
        and (typed.scorer <> 'accuracy' or typed.match_rule in (
            'exact', 'contains', 'regex', 'json', 'numeric'
        )) as has_verdict,

        ---------- json
        typed.target,
        typed.parameters,
        typed.required_keys,

        ---------- lists
        typed.must,
        typed.must_not

    from typed
    left join scorers using (scorer)
    left join received as own_scores
        on
            typed.task_id = own_scores.task_id
            and typed.dimension_id = own_scores.scores_from
    left join received as named_scores
        on
            typed.task_id = named_scores.task_id
            and typed.scorer = named_scores.scores_from
            and (scorers.scorer is null or scorers.scorer = 'judge')

)

select * from joined
