-- One row per expected value or container of a case of a testset.
with

source as (select * from {{ source('raw', 'expectations') }} where {{ is_live() }}),

renamed as (

    select

        ---------- ids
        load_id,
        testset_id,
        case_id,
        step_id,

        ---------- strings
        scope,
        field,
        path,
        pointer,
        matcher,
        operand,
        operand_ascii,

        ---------- numerics
        "line" as line_number,
        check_no,
        number as expected_number,
        length as expected_length,
        tolerance,

        ---------- json
        expected,
        allowed

    from source

)

select * from renamed
