{{ config(materialized='view') }}

with

decisions as (select * from {{ ref('promptlab', 'stg_tasks__decisions') }}),

final as (

    select

        ---------- ids
        task_id,
        policy_hash,

        ---------- strings
        decision,

        ---------- numerics
        n_scores,

        ---------- booleans
        row_number() over (partition by task_id order by decided_at desc) = 1 as is_newest,
        is_first,

        ---------- json
        rechecks,

        ---------- timestamps
        decided_at

    from decisions

)

select * from final
