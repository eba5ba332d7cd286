-- One row per testset and case.
with

source as (select * from {{ source('raw', 'test_cases') }} where {{ is_live() }}),

renamed as (

    select

        ---------- ids
        load_id,
        testset_id,
        case_id,
        content_hash,

        ---------- strings
        format_version,

        ---------- numerics
        "line" as line_number,
        position as case_position,

        ---------- json
        tags,
        inputs,
        step_inputs,
        batch_items,
        expected_outputs,
        expected_aggregation,
        intermediate_expectations,
        evaluation_config,
        raw_data

    from source

)

select * from renamed
