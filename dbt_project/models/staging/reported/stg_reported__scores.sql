with

source as (select * from {{ source('raw', 'reported_scores') }} where {{ is_live(of='task') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,
        round_id,
        dimension_id,

        ---------- strings
        summary,

        ---------- numerics
        "value" as reported_value,
        score,

        ---------- json
        payload

    from source

)

select * from renamed
