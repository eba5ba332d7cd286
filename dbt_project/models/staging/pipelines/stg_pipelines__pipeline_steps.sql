-- One row per pipeline and step of it.
with

source as (select * from {{ source('raw', 'pipeline_steps') }} where {{ is_live() }}),

renamed as (

    select

        ---------- ids
        load_id,
        pipeline_id,
        step_id,

        ---------- strings
        output_key,
        "type" as step_type,

        ---------- numerics
        position as step_position,

        ---------- booleans
        required as is_required

    from source

)

select * from renamed
