{{ config(materialized='view') }}

-- One row per text of a prompt.
with

prompts as (select * from {{ ref('promptlab', 'dim_task_prompts') }}),
tasks as (select * from {{ ref('promptlab', 'dim_tasks') }}),

final as (

    select

        ---------- ids
        prompts.prompt_hash,

        ---------- numerics
        count(*) as n_tasks,

        ---------- timestamps
        min(tasks.created_at) as first_created_at,
        max(tasks.created_at) as last_created_at,

        ---------- json
        min(prompts.prompt) as prompt

    from prompts
    inner join tasks using (task_id)
    group by prompts.prompt_hash

)

select * from final
