{{ config(materialized=view_of_step()) }}

with

decisions as (select * from {{ ref('promptlab', 'stg_tasks__decisions') }}),
tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
scores as (select * from {{ ref('promptlab', 'stg_scores__scores') }}),
loads as (select * from {{ ref('promptlab', 'stg_loads__loads') }}),

-- the newest decision about a task counts
newest as (

    select
        task_id,
        max_by(decision, decided_at) as decision,
        max(decided_at) as decided_at,
        max_by(rechecks, decided_at) as rechecks,
        max_by(n_scores, decided_at) as n_scores,
        bool_and(is_first) as is_first

    from decisions
    group by task_id

),

-- it rests on re-checks, which are null here if they are gone, and on scores from outside
used as (

    select
        task_id,
        {{ unnested(json_text_elements('rechecks')) }} as recheck_task_id

    from newest

),

scored as (

    select
        task_id,
        count(*) as n_scores

    from scores
    group by task_id

),

unfounded as (

    select used.task_id
    from used
    left join tasks on used.recheck_task_id = tasks.task_id
    where tasks.task_id is null

    union

    select newest.task_id
    from newest
    left join scored using (task_id)
    where coalesce(scored.n_scores, 0) < newest.n_scores

),

of_tasks as (

    select
        task_id,
        load_id

    from tasks

    union

    select
        task_id,
        load_id

    from scores

),

-- it is about what was loaded then
parts as (

    select * from of_tasks

    union

    select
        used.task_id,
        of_tasks.load_id

    from used
    inner join of_tasks on used.recheck_task_id = of_tasks.task_id

),

loaded as (

    select
        parts.task_id,
        max(loads.finished_at) as finished_at

    from parts
    inner join loads using (load_id)
    group by parts.task_id

),

described as (

    select

        ---------- ids
        newest.task_id,

        ---------- booleans
        newest.decision in ('ship', 'first_run') as is_shipped,
        newest.decision <> 'do_not_ship' as is_accepted,
        newest.is_first,
        unfounded.task_id is null as is_founded,
        coalesce(newest.decided_at >= loaded.finished_at, true) as is_about_this

    from newest
    left join unfounded using (task_id)
    left join loaded using (task_id)

)

select * from described
