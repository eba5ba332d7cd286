-- One row per value or container of a golden answer that is compared as JSON.
with

source as (select * from {{ source('raw', 'golden_checks') }} where {{ is_live(of='task') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,
        baseline_id,

        ---------- strings
        path,
        pointer,
        matcher,
        operand,
        operand_ascii,

        ---------- numerics
        golden_no,
        check_no,
        number as expected_number,
        length as expected_length

    from source

)

select * from renamed
