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

        ---------- numerics
        position as case_position,

        ---------- json
        context,
        tags

    from source

)

select * from renamed
