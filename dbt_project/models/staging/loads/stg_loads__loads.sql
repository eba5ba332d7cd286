with

source as (select * from {{ source('raw', 'loads') }}),

renamed as (

    select

        ---------- ids
        load_id,
        sha256,

        ---------- strings
        file_uri,
        kind,
        source_name,
        status,
        testset_override,
        message,
        ingest_version,

        ---------- numerics
        bytes,
        rows_loaded,
        rows_rejected,

        ---------- timestamps
        started_at,
        finished_at,

        ---------- json
        replaced

    from source

)

select * from renamed
