with

source as (select * from {{ source('raw', 'settings') }}),

renamed as (

    select

        ---------- strings
        setting,
        name as setting_name,
        value as setting_value,

        ---------- numerics
        input_price,
        output_price

    from source

)

select * from renamed
