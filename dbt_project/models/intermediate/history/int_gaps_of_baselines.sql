{{ config(materialized=view_of_step()) }}

with

pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
decisions as (select * from {{ ref('promptlab', 'stg_tasks__decisions') }}),
namings as (select * from {{ ref('promptlab', 'stg_tasks__named_baselines') }}),
named as (select * from {{ ref('promptlab', 'int_named_baselines') }}),
parts as (
    select * from {{ ref('promptlab', 'int_judged_parts') }}
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
    left join accepted using (task_id)
    where accepted.set_at is null or decisions.decided_at > accepted.set_at

    union all

    select
        task_id,
        judged

    from accepted

),

judged as (

    select
        task_id,
        {{ unnested(json_elements('judged')) }} as part

    from judgings
    where judged is not null and task_id in (select pairs.baseline_task_id from pairs)

),

most as (

    select
        task_id,
        {{ json_text('part', 'kind') }} as part_kind,
        {{ json_text('part', 'id') }} as part_id,
        max(cast({{ json_text('part', 'n') }} as bigint)) as n_cases

    from judged
    group by task_id, part_kind, part_id

),

gaps as (

    select
        pairs.baseline_task_id,
        pairs.candidate_task_id,
        case most.part_kind
            when 'verdicts' then 'baseline_unjudged'
            when 'testset' then 'baseline_of_another_testset'
            else 'baseline_unscored'
        end as gap,
        coalesce(most.part_id, 'verdicts') as subject,
        coalesce(parts.name, most.part_id) as name,
        most.n_cases as n_before,
        coalesce(parts.n_cases, 0) as n_now

    from pairs
    inner join most on pairs.baseline_task_id = most.task_id
    left join parts
        on
            most.task_id = parts.task_id
            and most.part_kind = parts.part_kind
            and most.part_id is not distinct from parts.part_id
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
