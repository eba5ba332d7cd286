-- One row per task and dimension that its file asks for: how it is scored and weighed.
with

source as (select * from {{ source('raw', 'dimension_configs') }} where {{ is_live(of='task') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        dimension_id,

        ---------- strings
        name,
        scoring_mode,
        direction,
        match_rule,
        compare,
        reducer,
        aggregation,
        stability_of,
        scorer_name,
        bad_parameters,
        target_problem,
        target_warning,

        ---------- numerics
        position as dimension_position,
        weight,
        k,
        tolerance,
        pass_score,
        trim_share,
        input_price_per_million,
        output_price_per_million,
        lower_limit,
        upper_limit,
        min_score,
        max_score,
        max_variance,

        ---------- booleans
        is_graded,

        ---------- json
        target,
        parameters,
        must,
        must_not,
        required_keys

    from source

)

select * from renamed
