-- One row per total that the file of a tool claims: its number of rows, or the mean of a dimension.
with

source as (select * from {{ source('raw', 'claims') }} where {{ is_live(of='task') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        dimension_id,

        ---------- numerics
        "value" as claimed_value

    from source

)

select * from renamed
