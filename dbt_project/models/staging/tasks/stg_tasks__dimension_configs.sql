with

source as (select * from {{ source('raw', 'dimension_configs') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        dimension_id,

        ---------- strings
        name,
        scoring_mode,
        direction,

        ---------- numerics
        position as dimension_position,
        weight,

        ---------- booleans
        is_graded,

        ---------- json
        target,
        parameters

    from source

)

select * from renamed
