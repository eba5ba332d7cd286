-- One row per task whose numbers were computed: the hash of what they depended on.
with

source as (select * from {{ source('raw', 'task_builds') }}),

renamed as (

    select

        ---------- ids
        task_id,

        ---------- strings
        title,
        fingerprint

    from source

)

select * from renamed
