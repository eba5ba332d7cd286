with

source as (select * from {{ source('raw', 'reported_totals') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        dimension_id,

        ---------- strings
        name as total_name,
        rule as total_rule,
        {{ adapter.quote('scope') }} as total_scope,

        ---------- numerics
        position as total_position,
        {{ adapter.quote('value') }} as reported_value,
        n as n_reported,

        ---------- json
        parameters

    from source

)

select * from renamed
