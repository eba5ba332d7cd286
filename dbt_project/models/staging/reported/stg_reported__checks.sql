-- One row per assertion on a round that the tool judged itself.
with

source as (select * from {{ source('raw', 'reported_checks') }} where {{ is_live(of='task') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,
        round_id,

        ---------- strings
        name as check_name,
        "type" as check_type,
        case
            when passed then 'pass'
            when not passed then 'fail'
            else 'unevaluated'
        end as status,
        reason,
        error,

        ---------- numerics
        position as check_position,
        parent_position,
        score,
        weight,
        threshold,

        ---------- json
        expected

    from source

)

select * from renamed
