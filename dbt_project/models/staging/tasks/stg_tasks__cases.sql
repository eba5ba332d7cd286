with

source as (select * from {{ source('raw', 'cases') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,

        ---------- strings
        cluster,
        expectation_hash,

        ---------- numerics
        position as case_position,

        ---------- json
        context,
        tags,
        categories

    from source

)

select * from renamed
