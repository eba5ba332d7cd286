with

source as (select * from {{ source('raw', 'decisions') }}),

renamed as (

    select

        ---------- ids
        task_id,
        policy_hash,

        ---------- strings
        decision,

        ---------- numerics
        n_scores,

        ---------- booleans
        coalesce(is_first, decision = 'first_run') as is_first,

        ---------- json
        rechecks,
        judged,

        ---------- timestamps
        decided_at

    from source

)

select * from renamed
