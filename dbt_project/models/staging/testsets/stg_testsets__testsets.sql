-- One row per testset, a set of cases with what is expected.
with

source as (select * from {{ source('raw', 'testsets') }} where {{ is_live() }}),

renamed as (

    select

        ---------- ids
        load_id,
        testset_id,

        ---------- strings
        file_uri,
        feature,
        "type" as test_type,
        version,

        ---------- numerics
        cases

    from source

)

select * from renamed
