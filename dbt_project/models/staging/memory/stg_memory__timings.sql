-- One row per call of a memory system that is timed, or summary of calls (`grain`), by conversation (`task_id`).
with

source as (select * from {{ source('raw', 'memory_timings') }} where {{ is_live() }}),

renamed as (

    select

        ---------- ids
        load_id,
        run_id,
        task_id,

        ---------- strings
        operation,
        grain,
        stage,

        ---------- numerics
        position as timing_position,
        test_index,
        duration_ms,
        min_ms,
        max_ms,
        count as n_measured

    from source

)

select * from renamed
