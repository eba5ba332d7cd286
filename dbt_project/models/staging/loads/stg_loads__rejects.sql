-- One row per problem of a file: a record that was left out, or a warning.
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
        "line" as line_number,
        "column" as column_number

    from source

)

select * from renamed
