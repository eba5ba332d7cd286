-- One row per round of questions (`test_index`) of a conversation (`task_id`) of a memory run.
with

source as (select * from {{ source('raw', 'memory_tests') }} where {{ is_live() }}),

renamed as (

    select

        ---------- ids
        load_id,
        run_id,
        task_id,

        ---------- numerics
        test_index,
        range_start,
        range_end,
        dialogs_inserted_count,
        questions as n_answers,

        ---------- json
        memory_snapshot,
        extras

    from source

)

select * from renamed
