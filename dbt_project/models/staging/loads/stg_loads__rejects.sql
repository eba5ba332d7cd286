with

source as (select * from {{ source('raw', 'rejects') }}),

renamed as (

    select

        ---------- ids
        load_id,
        record_id,

        ---------- strings
        file_uri,
        pointer,
        severity,
        code,
        message,
        raw_text,

        ---------- numerics
        {{ adapter.quote('line') }} as line_number,
        {{ adapter.quote('column') }} as column_number

    from source

)

select * from renamed
