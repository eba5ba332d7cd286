{{ config(materialized='view') }}

with

tasks as (select * from {{ ref('promptlab', 'dim_tasks') }} where recheck_of is null),
loads as (select * from {{ ref('promptlab', 'stg_loads__loads') }}),

joined as (

    select
        tasks.*,
        loads.ingest_id,
        first_value(tasks.run_id) over newest_first as newest_run_id,
        first_value(loads.ingest_id) over newest_first as newest_ingest_id,
        row_number() over (
            partition by tasks.title, tasks.variant
            order by tasks.run_number desc, tasks.task_id desc
        ) as recency

    from tasks
    left join loads using (load_id)
    window newest_first as (
        partition by tasks.title order by tasks.run_number desc, tasks.task_id desc
    )

),

final as (

    select

        ---------- ids
        max(case when recency = 1 then task_id end) as newest_task_id,
        max(case when recency = 1 then prompt_hash end) as newest_prompt_hash,
        max(case when recency = 1 then settings_hash end) as settings_hash,

        ---------- strings
        title,
        variant,
        max(case when recency = 1 then provider end) as provider,
        max(case when recency = 1 then model end) as model,
        max(case when recency = 1 then prompt_name end) as prompt_name,

        ---------- numerics
        count(*) as n_tasks,
        count(distinct prompt_hash) as n_prompts,

        ---------- booleans
        bool_or(
            recency = 1 and (run_id = newest_run_id or ingest_id = newest_ingest_id)
        ) as is_current,

        ---------- timestamps
        min(created_at) as first_created_at,
        max(created_at) as last_created_at

    from joined
    group by title, variant

)

select * from final
