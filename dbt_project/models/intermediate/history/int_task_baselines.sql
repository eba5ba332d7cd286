{{ config(materialized='table', unique_key='task_id') }}

with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
histories as (select * from {{ ref('promptlab', 'int_run_histories') }} where place > 0),
accepts as (select * from {{ ref('promptlab', 'stg_tasks__accepts') }}),
outages as (select * from {{ ref('promptlab', 'int_known_outages') }}),

earlier_variants as (

    select variants.*

    from variants
    left join outages using (task_id)
    where outages.task_id is null

),

of_variants as (

    select
        variants.task_id,
        earlier.task_id as last_task_id,
        earlier.run_id as last_run_id,
        row_number() over (
            partition by variants.task_id
            order by histories.history, histories.place
        ) as choice

    from variants
    inner join histories using (title, run_id)
    inner join earlier_variants as earlier
        on
            histories.title = earlier.title
            and histories.counted_run_id = earlier.run_id
            and variants.lineage = earlier.lineage

),

runs as (

    select
        title,
        run_id,
        run_number,
        count(*) as n_variants,
        count(earlier_variants.task_id) as n_earlier_variants,
        min(earlier_variants.task_id) as earlier_task_id,
        coalesce(bool_and(earlier_variants.is_base_branch), false) as is_history

    from variants
    left join earlier_variants using (task_id, title, run_id, run_number)
    group by title, run_id, run_number

),

numbered as (

    select
        *,
        max(case when is_history then run_number end) over (
            partition by title
            order by run_number rows between unbounded preceding and 1 preceding
        ) as previous_run_number

    from runs

),

preceded as (

    select
        numbered.*,
        case
            when numbered.n_variants = 1 and earlier.n_earlier_variants = 1
                then earlier.earlier_task_id
        end as previous_task_id

    from numbered
    left join runs as earlier
        on
            numbered.title = earlier.title
            and numbered.previous_run_number = earlier.run_number

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
