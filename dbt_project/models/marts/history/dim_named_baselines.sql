{{ config(materialized='table') }}

with

baselines as (select * from {{ ref('int_named_baselines') }}),

final as (

    select

        ---------- ids
        testset_id,
        task_id,

        ---------- strings
        title,
        variant,
        state,

        ---------- timestamps
        set_at

    from baselines

)

select * from final
