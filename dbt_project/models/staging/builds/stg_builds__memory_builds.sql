with

source as (

    select * from {{ source('raw', 'memory_builds') }}

),

renamed as (

    select

        ---------- ids
        run_id,

        ---------- strings
        fingerprint

    from source

)

select * from renamed
