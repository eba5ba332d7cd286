with

source as (select * from {{ source('raw', 'accepts') }}),

renamed as (

    select

        ---------- ids
        task_id,

        ---------- strings
        reason,

        ---------- json
        cases,

        ---------- timestamps
        accepted_at

    from source

)

select * from renamed
