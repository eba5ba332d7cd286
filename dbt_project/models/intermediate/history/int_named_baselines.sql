{{ config(materialized=view_of_step()) }}

with

names as (select * from {{ ref('promptlab', 'stg_builds__settings') }} where setting = 'title'),
settings as (

    select
        named.testset_id,
        named.task_id,
        named.n_scores,
        named.set_at,
        coalesce(names.setting_value, named.title) as title

    from {{ ref('promptlab', 'stg_tasks__named_baselines') }} as named
    left join names on named.title = names.setting_name

),
tasks as (select * from {{ ref('promptlab', 'int_tasks_resolved') }}),
variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),

scores as (

    select
        task_id,
        load_id,
        sum(count(*)) over (partition by task_id) as n_scores

    from {{ ref('promptlab', 'stg_scores__scores') }}
    group by task_id, load_id

),

testsets as (select * from {{ ref('promptlab', 'stg_testsets__testsets') }}),
loads as (select * from {{ ref('promptlab', 'stg_loads__loads') }}),

-- what is cleared is cleared for all variants of the title
in_order as (

    select
        settings.*,
        variants.variant,
        row_number() over (
            partition by settings.title, settings.testset_id, variants.variant
            order by settings.set_at desc nulls last, settings.task_id asc nulls last
        ) as newness,
        max(case when settings.task_id is null then settings.set_at end) over (
            partition by settings.title, settings.testset_id
        ) as cleared_at

    from settings
    left join variants using (task_id)

),

named as (

    select * from in_order
    where
        newness = 1
        and task_id is not null
        and (cleared_at is null or set_at > cleared_at)

),

-- everything that a task's numbers are made of
loads_of_tasks as (

    select
        task_id,
        load_id

    from tasks

    union all

    select
        task_id,
        load_id

    from scores

    union all

    select
        tasks.task_id,
        testsets.load_id

    from tasks
    inner join testsets using (testset_id)

),

last_loads as (

    select
        named.task_id,
        max(loads.finished_at) as last_loaded_at,
        max(case when loads.kind <> 'testset' then loads.finished_at end) as last_run_at,
        max(scores.n_scores) as n_scores

    from named
    inner join loads_of_tasks using (task_id)
    inner join loads on loads_of_tasks.load_id = loads.load_id
    left join scores on named.task_id = scores.task_id
    group by named.task_id

),

-- who named it accepted what was there
compared as (

    select
        named.*,
        last_loads.last_loaded_at,
        last_loads.last_run_at > named.set_at
        or coalesce(last_loads.n_scores, 0) < named.n_scores as is_reloaded

    from named
    left join last_loads using (task_id)

),

baselines as (

    select

        ---------- ids
        compared.testset_id,
        compared.task_id,

        ---------- strings
        compared.title,
        compared.variant,
        case
            when tasks.task_id is null then 'gone'
            when compared.last_loaded_at > compared.set_at or compared.is_reloaded then 'changed'
            else 'ok'
        end as state,

        ---------- booleans
        coalesce(compared.is_reloaded, false) as is_reloaded,

        ---------- timestamps
        compared.set_at

    from compared
    left join tasks on compared.task_id = tasks.task_id

)

select * from baselines
