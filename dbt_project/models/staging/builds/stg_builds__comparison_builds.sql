-- One row per task whose comparisons were computed: the hash of what they depended on.
with

source as (select * from {{ source('raw', 'comparison_builds') }}),

renamed as (

    select

        ---------- ids
        candidate_task_id,

        ---------- strings
        fingerprint

    from source

)

select * from renamed
