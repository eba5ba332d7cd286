-- One row per version of a file that was read, or left out with a message; ingest_id is the
-- first load of the call that read it.
with

source as (select * from {{ source('raw', 'loads') }}),

renamed as (

    select

        ---------- ids
        load_id,
        coalesce(ingest_id, load_id) as ingest_id,
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
        finished_at

    from source

)

select * from renamed
