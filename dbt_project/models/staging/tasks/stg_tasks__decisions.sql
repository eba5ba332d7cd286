with

source as (select * from {{ source('raw', 'decisions') }}),

renamed as (

    select

        ---------- ids
        task_id,
        policy_hash,

        ---------- strings
        decision,

        ---------- timestamps
        decided_at

    from source

)

select * from renamed
