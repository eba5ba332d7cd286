-- One row per round and dimension that its tool scored: the value as the tool wrote it, and as a score from 0 to 1.
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
