{{ config(materialized='view') }}

-- One row per title and variant: its newest task, and whether it is current, a variant of the newest run.
with

tasks as (select * from {{ ref('promptlab', 'dim_tasks') }} where recheck_of is null),

numbered as (

    select
        *,
        first_value(run_id) over newest_first as newest_run_id,
        row_number() over (
            partition by title, variant order by run_number desc, task_id desc
        ) as recency

    from tasks
    window newest_first as (partition by title order by run_number desc, task_id desc)

),

-- variants of the newest run; where it has one, also those since whose newest run no variant ran
-- twice: each may be in a run by itself
joined as (

    select
        *,
        count(*) filter (where run_id = newest_run_id) over of_title as n_in_newest_run,
        max(case when recency = 2 then run_number end) over of_title as second_run_number

    from numbered
    window of_title as (partition by title)

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
            run_id = newest_run_id
            or recency = 1 and n_in_newest_run = 1 and run_number > coalesce(second_run_number, 0)
        ) as is_current,

        ---------- timestamps
        min(created_at) as first_created_at,
        max(created_at) as last_created_at

    from joined
    group by title, variant

)

select * from final
