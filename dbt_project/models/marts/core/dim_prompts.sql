{{ config(materialized='table') }}

with

prompts as (select * from {{ ref('int_task_prompts') }}),
variants as (select * from {{ ref('int_task_variants') }}),

final as (

    select

        ---------- ids
        prompts.prompt_hash,

        ---------- numerics
        count(*) as n_tasks,

        ---------- timestamps
        min(variants.created_at) as first_created_at,
        max(variants.created_at) as last_created_at,

        ---------- json
        min(prompts.prompt) as prompt

    from prompts
    inner join variants using (task_id)
    group by prompts.prompt_hash

)

select * from final
