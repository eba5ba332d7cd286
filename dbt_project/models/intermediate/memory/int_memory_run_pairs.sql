{{ config(materialized=view_of_step()) }}

with

files as (select * from {{ ref('stg_memory__runs') }}),

runs as (

    select
        run_id,
        max(dataset) as dataset,
        max(memory_system) as memory_system,
        min(started_at) as started_at

    from files
    group by run_id

),

in_history as (

    select
        *,
        row_number() over (
            partition by dataset
            order by started_at nulls first, run_id
        ) as place

    from runs

),

earlier as (

    select
        before.run_id as baseline_run_id,
        after.run_id as candidate_run_id,
        case
            when coalesce(before.memory_system, '') <> coalesce(after.memory_system, '')
                then 'other_system'
            else 'previous'
        end as pair_source,
        after.dataset,
        before.place

    from in_history as after
    inner join in_history as before
        on after.dataset = before.dataset and after.place > before.place

),

ranked as (

    select
        *,
        row_number() over (
            partition by candidate_run_id, pair_source
            order by place desc
        ) as newest

    from earlier

),

pairs as (

    select

        ---------- ids
        baseline_run_id,
        candidate_run_id,

        ---------- strings
        pair_source,
        dataset

    from ranked
    where newest = 1

)

select * from pairs
