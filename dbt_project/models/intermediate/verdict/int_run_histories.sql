{{ config(materialized='table') }}

with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
outages as (select * from {{ ref('promptlab', 'int_known_outages') }}),
counted_variants as (select * from {{ ref('promptlab', 'int_counted_variants') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

members as (

    select
        variants.title,
        variants.run_id,
        variants.variant,
        variants.branch,
        variants.run_number,
        variants.is_base_branch,
        bool_and(outages.task_id is not null) as is_outage

    from variants
    left join outages using (task_id)
    group by
        variants.title,
        variants.run_id,
        variants.variant,
        variants.branch,
        variants.run_number,
        variants.is_base_branch

),

-- of runs without an earlier one of their branch there is one history
pairs as (

    select distinct
        members.title,
        members.run_id,
        earlier.run_id as counted_run_id,
        earlier.run_number as counted_run_number,
        earlier.is_base_branch

    from members
    inner join counted_variants using (title, run_id, variant)
    inner join members as earlier
        on
            members.title = earlier.title
            and counted_variants.counted_variant = earlier.variant
            and counted_variants.until_run_number > earlier.run_number
            and (
                earlier.is_base_branch
                or (not members.is_base_branch and members.branch = earlier.branch)
            )
    where not earlier.is_outage

),

pushed as (

    select
        *,
        bool_or(not is_base_branch) over (partition by title, run_id) as has_pushes

    from pairs

),

histories as (

    select
        *,
        'base' as history

    from pairs
    where is_base_branch

    union all

    select
        title,
        run_id,
        counted_run_id,
        counted_run_number,
        is_base_branch,
        'branch' as history

    from pushed
    where has_pushes

),

placed as (

    select
        title,
        run_id,
        history,
        counted_run_id,
        row_number() over (
            partition by title, run_id, history
            order by is_base_branch, counted_run_number desc
        ) as place

    from histories

),

-- a run by itself has the base branch's history, even an empty one
own_runs as (

    select distinct
        title,
        run_id,
        'base' as history

    from members

    union

    select
        title,
        run_id,
        history

    from histories

),

final as (

    select
        title,
        run_id,
        history,
        run_id as counted_run_id,
        0 as place

    from own_runs

    union all

    select placed.*
    from placed
    cross join policy
    where placed.place <= policy.max_runs

)

select * from final
