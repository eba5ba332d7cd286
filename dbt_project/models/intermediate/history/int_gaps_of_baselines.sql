{{ config(materialized=view_of_step()) }}

with

pairs as (select * from {{ ref('int_task_pairs') }} where {{ in_this_build('comparisons') }}),
tasks as (
    select * from {{ ref('stg_tasks__tasks') }}
    where task_id in (select pairs.baseline_task_id from pairs)
),
loads as (select * from {{ ref('stg_loads__loads') }}),
decisions as (select * from {{ ref('stg_tasks__decisions') }}),
namings as (select * from {{ ref('stg_tasks__named_baselines') }}),
named as (select * from {{ ref('int_named_baselines') }}),
parts as (
    select * from {{ ref('int_judged_parts') }}
    where task_id in (select pairs.baseline_task_id from pairs)
),

-- who named it accepted what it was then
accepted as (

    select
        task_id,
        max(set_at) as set_at,
        max_by(judged, set_at) as judged

    from namings
    where task_id is not null
    group by task_id

),

judgings as (

    select
        decisions.task_id,
        decisions.judged

    from decisions
    inner join tasks using (task_id)
    inner join loads on tasks.load_id = loads.load_id
    left join accepted using (task_id)
    where
        decisions.judged is not null
        and decisions.decided_at > loads.finished_at
        and (accepted.set_at is null or decisions.decided_at > accepted.set_at)

    union all

    select
        accepted.task_id,
        accepted.judged

    from accepted
    inner join tasks using (task_id)
    where accepted.judged is not null

),

judged as (

    select
        task_id,
        judged,
        {{ unnested(json_object_keys('judged')) }} as part

    from judgings

),

most as (

    select
        task_id,
        part,
        max(cast({{ json_object_member('judged', 'part') }} as bigint)) as n_cases

    from judged
    group by task_id, part

),

gaps as (

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        case when most.part = '' then 'baseline_unjudged' else 'baseline_unscored' end as gap,
        case when most.part = '' then 'verdicts' else most.part end as subject,
        coalesce(parts.name, most.part) as name,
        most.n_cases as n_before,
        coalesce(parts.n_cases, 0) as n_now

    from pairs
    inner join most on pairs.baseline_task_id = most.task_id
    left join parts
        on most.task_id = parts.task_id and most.part = coalesce(parts.dimension_id, '')
    where coalesce(parts.n_cases, 0) < most.n_cases

    union all

    -- what somebody accepted is not there any more
    select distinct
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        'baseline_reloaded' as gap,
        'baseline' as subject,
        cast(null as string) as name,
        1 as n_before,
        0 as n_now

    from pairs
    inner join named on pairs.baseline_task_id = named.task_id
    where pairs.pair_source = 'named' and named.is_reloaded

)

select * from gaps
