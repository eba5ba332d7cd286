with

dimensions as (select * from {{ ref('int_dimensions_configured') }}),

typed as (

    select
        task_id,
        dimension_id,
        scorer,
        parameters,
        coalesce({{ json_text('parameters', 'match_rule') }}, 'exact') as match_rule,
        coalesce({{ json_text('parameters', 'compare') }}, 'parsed') as compare,
        coalesce({{ json_text('parameters', 'reducer') }}, 'mean') as reducer,
        coalesce({{ json_text('parameters', 'aggregation') }}, 'mean') as aggregation,
        {{ json_text('parameters', 'of') }} as stability_of,
        {{ json_text('parameters', 'scorer_name') }} as scorer_name,
        {{ json_field('parameters', 'k') }} as given_k,
        {{ json_field('parameters', 'tolerance') }} as given_tolerance,
        {{ json_field('parameters', 'pass_score') }} as given_pass_score,
        {{ json_field('parameters', 'trim') }} as given_trim,
        {{ json_field('parameters', 'must') }} as must,
        {{ json_field('parameters', 'must_not') }} as must_not,
        {{ json_field('parameters', 'required_keys') }} as required_keys,
        {{ json_field('parameters', 'input_price_per_million') }} as given_input_price,
        {{ json_field('parameters', 'output_price_per_million') }} as given_output_price,
        {{ json_number('parameters', 'k') }} as k,
        {{ json_number('parameters', 'tolerance') }} as tolerance,
        {{ json_number('parameters', 'pass_score') }} as pass_score,
        {{ json_number('parameters', 'trim') }} as trim_share,
        {{ json_number('parameters', 'input_price_per_million') }} as input_price_per_million,
        {{ json_number('parameters', 'output_price_per_million') }} as output_price_per_million

    from dimensions

),

judged as (

    select
        *,
        scorer = 'accuracy' and match_rule not in (
            'exact', 'contains', 'regex', 'json', 'numeric', 'token_f1', 'char_f1', 'semantic'
        ) as is_bad_match_rule,
        scorer = 'consistency' and compare not in ('parsed', 'raw', 'token_f1') as is_bad_compare,
        reducer not in (
            'mean', 'median', 'min', 'max', 'pass_at_k', 'pass_hat_k'
        ) as is_bad_reducer,
        aggregation not in (
            'mean', 'median', 'trimmed_mean', 'winsorized_mean', 'min', 'p10'
        ) as is_bad_aggregation,
        given_k is not null
        and not coalesce(k >= 1 and k = floor(k) and k < 1e9, false) as is_bad_k,
        given_tolerance is not null and not coalesce(tolerance >= 0, false) as is_bad_tolerance,
        given_pass_score is not null
        and not coalesce(pass_score between 0 and 1, false) as is_bad_pass_score,
        given_trim is not null
        and not coalesce(trim_share >= 0 and trim_share < 0.5, false) as is_bad_trim,
        scorer = 'keywords'
        and (
            coalesce({{ json_kind('must') }} not in ('array', 'text'), false)
            or coalesce({{ json_kind('must_not') }} not in ('array', 'text'), false)
            or coalesce({{ list_size(texts_of('must')) }}, 0)
            + coalesce({{ list_size(texts_of('must_not')) }}, 0) = 0
        ) as is_bad_must,
        scorer = 'format'
        and not coalesce({{ are_required_keys_readable('required_keys') }}, true)
            as is_bad_required_keys,
        scorer = 'cost'
        and given_input_price is not null
        and not coalesce(input_price_per_million >= 0, false) as is_bad_input_price,
        scorer = 'cost'
        and given_output_price is not null
        and not coalesce(output_price_per_million >= 0, false) as is_bad_output_price

    from typed

),

checked as (

    select
        task_id,
        dimension_id,
        scorer,
        match_rule,
        compare,
        reducer,
        aggregation,
        stability_of,
        scorer_name,
        coalesce(tolerance, 0) as tolerance,
        pass_score,
        coalesce(trim_share, 0.1) as trim_share,
        cast(case when not is_bad_k then coalesce(k, 1) end as bigint) as k,
        input_price_per_million,
        output_price_per_million,
        {{ texts_of('must') }} as must,
        {{ texts_of('must_not') }} as must_not,
        required_keys,
        nullif(
            concat_ws(
                ', ',
                case when is_bad_match_rule then 'match_rule = ' || match_rule end,
                case when is_bad_compare then 'compare = ' || compare end,
                case when is_bad_reducer then 'reducer = ' || reducer end,
                case when is_bad_aggregation then 'aggregation = ' || aggregation end,
                case when is_bad_k then 'k = ' || cast(given_k as string) end,
                case
                    when is_bad_tolerance
                        then 'tolerance = ' || cast(given_tolerance as string)
                end,
                case
                    when is_bad_pass_score then 'pass_score = ' || cast(given_pass_score as string)
                end,
                case when is_bad_trim then 'trim = ' || cast(given_trim as string) end,
                case
                    when is_bad_must
                        then concat(
                            'must = ', coalesce(cast(must as string), 'null'),
                            ', must_not = ', coalesce(cast(must_not as string), 'null')
                        )
                end,
                case
                    when is_bad_required_keys
                        then 'required_keys = ' || cast(required_keys as string)
                end,
                case
                    when is_bad_input_price
                        then 'input_price_per_million = ' || cast(given_input_price as string)
                end,
                case
                    when is_bad_output_price
                        then 'output_price_per_million = ' || cast(given_output_price as string)
                end
            ),
            ''
        ) as bad_parameters

    from judged

)

select * from checked
