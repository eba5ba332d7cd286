{{ config(materialized='table') }}

-- One row per title, run, history (`base` or `branch`) and run that counts for it; 0 runs ago is the run itself.
with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
outages as (select * from {{ ref('promptlab', 'int_known_outages') }}),
variant_histories as (select * from {{ ref('promptlab', 'int_variant_histories') }}),
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
        earlier.run_id as history_run_id,
        earlier.run_number as history_run_number,
        earlier.is_base_branch

    from members
    inner join variant_histories using (title, run_id, variant)
    inner join members as earlier
        on
            members.title = earlier.title
            and variant_histories.history_variant = earlier.variant
            and variant_histories.until_run_number > earlier.run_number
            and (
                earlier.is_base_branch
                or (not members.is_base_branch and members.branch = earlier.branch)
            )
    where not earlier.is_outage

),

with_pushes as (

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
        history_run_id,
        history_run_number,
        is_base_branch,
        'branch' as history

    from with_pushes
    where has_pushes

),

numbered as (

    select
        title,
        run_id,
        history,
        history_run_id,
        row_number() over (
            partition by title, run_id, history
            order by is_base_branch, history_run_number desc
        ) as runs_ago

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
        run_id as history_run_id,
        0 as runs_ago

    from own_runs

    union all

    select numbered.*
    from numbered
    cross join policy
    where numbered.runs_ago <= policy.max_runs

)

select * from final
