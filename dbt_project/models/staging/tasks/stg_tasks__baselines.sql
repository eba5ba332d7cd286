-- One row per baseline of a case, which its answers are judged by: a golden answer, a list of rules and
-- others. Not an earlier task.
with

source as (select * from {{ source('raw', 'baselines') }} where {{ is_live(of='task') }}),
memory_questions as (select * from {{ ref('promptlab', 'stg_memory__questions') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,
        baseline_id,

        ---------- strings
        "type" as baseline_type,
        owner,

        ---------- numerics
        position as baseline_position,
        confidence,

        ---------- json
        payload,
        patterns

    from source

),

of_memory as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,
        'reference' as baseline_id,

        ---------- strings
        'golden_answer' as baseline_type,
        'unknown' as owner,

        ---------- numerics
        cast(0 as bigint) as baseline_position,
        cast(null as double) as confidence,

        ---------- json
        reference as payload,
        cast(null as json) as patterns

    from memory_questions
    where has_reference

),

baselines as (

    select * from renamed

    union all

    select * from of_memory

)

select * from baselines
