with

source as ({{ live_rows_of_tasks('claims') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        dimension_id,

        ---------- numerics
        {{ adapter.quote('value') }} as claimed_value

    from source

)

select * from renamed
