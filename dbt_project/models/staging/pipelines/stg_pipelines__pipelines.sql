-- One row per pipeline, the steps by which a system under test answers.
with

source as (select * from {{ source('raw', 'pipelines') }} where {{ is_live() }}),

renamed as (

    select

        ---------- ids
        load_id,
        pipeline_id,

        ---------- strings
        file_uri,
        name,
        evaluation_target,
        default_testset,

        ---------- json
        raw_data

    from source

)

select * from renamed
