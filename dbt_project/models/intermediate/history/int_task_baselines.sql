{{ config(materialized=view_of_step()) }}

with

tasks as (select * from {{ ref('stg_tasks__tasks') }}),
resolved as (select * from {{ ref('int_tasks_resolved') }}),
named as (select * from {{ ref('int_named_baselines') }}),
partial as (select * from {{ ref('int_partial_tasks') }}),

numbered as (

    select
        tasks.task_id,
        tasks.title,
        resolved.testset_id,
        partial.n_rows_held is null as is_whole,
        row_number() over (
            partition by tasks.title order by tasks.created_at nulls last, tasks.task_id
        ) as place

    from tasks
    inner join resolved using (task_id)
    left join partial using (task_id)

),

-- the newest earlier task whose rows are all there
placed as (

    select
        *,
        max(case when is_whole then place end) over (
            partition by title order by place
            rows between unbounded preceding and 1 preceding
        ) as previous_place

    from numbered

),

ordered as (

    select
        placed.*,
        previous.task_id as previous_task_id

    from placed
    left join numbered as previous
        on placed.title = previous.title and placed.previous_place = previous.place

),

baselines as (

    select

        ---------- ids
        ordered.task_id,
        case
            when named.task_id is null then ordered.previous_task_id
            when named.state <> 'gone' then named.task_id
        end as baseline_task_id,
        ordered.previous_task_id,
        named.task_id as named_task_id,

        ---------- strings
        case
            when named.state = 'gone' then 'gone'
            when named.task_id is not null then 'named'
            when ordered.previous_task_id is not null then 'previous'
            else 'none'
        end as baseline_source,

        ---------- booleans
        named.state = 'changed' as is_baseline_changed,

        ---------- timestamps
        named.set_at as baseline_set_at

    from ordered
    -- a task is no baseline of its own
    left join named
        on
            ordered.title = named.title
            and ordered.testset_id is not distinct from named.testset_id
            and ordered.task_id <> named.task_id

)

select * from baselines
