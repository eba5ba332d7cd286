{{ config(materialized='table', unique_key='task_id') }}

-- One row per task that is no re-check: the earlier task that pages show it against
-- (`baseline_task_id`), and the last task of its history (`last_task_id`), which its verdict is about.
with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
runs as (select * from {{ ref('promptlab', 'int_title_runs') }}),
histories as (select * from {{ ref('promptlab', 'int_task_histories') }} where runs_ago > 0),
accepts as (select * from {{ ref('promptlab', 'stg_tasks__accepts') }}),
outages as (select * from {{ ref('promptlab', 'int_known_outages') }}),

of_variants as (

    select
        task_id,
        history_task_id as last_task_id,
        history_run_id as last_run_id,
        row_number() over (partition by task_id order by history <> 'base', runs_ago) as choice

    from histories

),

alone as (

    select
        variants.title,
        variants.run_id,
        min(variants.task_id) as task_id

    from variants
    left join outages using (task_id)
    where outages.task_id is null
    group by variants.title, variants.run_id
    having count(*) = 1

),

preceded as (

    select
        runs.title,
        runs.run_id,
        alone.task_id as previous_task_id

    from runs
    left join alone
        on
            runs.title = alone.title
            and runs.previous_run_id = alone.run_id
            and runs.n_variants = 1

),

final as (

    select

        ---------- ids
        variants.task_id,
        coalesce(of_variants.last_task_id, preceded.previous_task_id) as baseline_task_id,
        of_variants.last_task_id,
        of_variants.last_run_id,

        ---------- strings
        case
            when of_variants.last_task_id is not null then 'variant'
            when baseline_task_id is not null then 'title'
        end as matched_by,
        case
            when accepts.task_id is not null then 'accepted'
            when baseline_task_id is not null then 'previous'
            else 'none'
        end as baseline_source

    from variants
    inner join preceded using (title, run_id)
    left join of_variants on variants.task_id = of_variants.task_id and of_variants.choice = 1
    left join accepts on of_variants.last_task_id = accepts.task_id

)

select * from final
