with

source as (select * from {{ source('raw', 'named_baselines') }}),

renamed as (

    select

        ---------- ids
        testset_id,
        task_id,

        ---------- strings
        title,

        ---------- numerics
        n_scores,

        ---------- json
        judged,

        ---------- timestamps
        set_at

    from source

)

select * from renamed
