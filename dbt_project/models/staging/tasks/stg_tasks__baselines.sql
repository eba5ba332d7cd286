with

source as (select * from {{ source('raw', 'baselines') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,
        baseline_id,

        ---------- strings
        {{ adapter.quote('type') }} as baseline_type,
        owner,

        ---------- numerics
        position as baseline_position,
        confidence,

        ---------- json
        payload,
        patterns

    from source

)

select * from renamed
