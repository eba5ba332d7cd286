-- One row per task that a person accepted as it is, with the reason and the cases.
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
