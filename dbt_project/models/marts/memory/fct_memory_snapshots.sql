-- One row per memory run, conversation (`task_id`), round and figure that the system gave of its memory.
with

tests as (
    select * from {{ ref('promptlab', 'stg_memory__tests') }}
    where {{ in_this_build('memory_runs') }} and memory_snapshot is not null
),

measures as (

    select
        run_id,
        task_id,
        test_index,
        dialogs_inserted_count,
        memory_snapshot,
        unnest(json_keys(memory_snapshot)) as measure

    from tests

),

valued as (

    select
        *,
        {{ json_member('memory_snapshot', 'measure') }} as value_json

    from measures

),

final as (

    select

        ---------- ids
        run_id,
        task_id,
        test_index,
        measure,

        ---------- numerics
        dialogs_inserted_count,
        case
            when {{ json_kind('value_json') }} = 'number'
                then try_cast(cast(value_json as string) as double)
        end as value,

        ---------- json
        value_json

    from valued

)

select * from final
