{{ config(materialized=view_of_step()) }}

with

totals as (
    select * from {{ ref('int_reported_totals') }} where reason in ('fewer_rows', 'no_rows')
),
tasks as (select * from {{ ref('stg_tasks__tasks') }}),

-- the rows of a total: counts say them, by status too; others are over as many
claims as (

    select
        task_id,
        total_scope,
        total_rule,
        case
            when total_rule in ('count_rounds', 'count_cases') then sum(reported)
            else max(n_reported)
        end as n_rows_claimed,
        case
            when total_rule in ('count_rounds', 'count_cases') then sum(computed)
            else max(n_computed)
        end as n_rows_held

    from totals
    group by task_id, total_scope, total_rule

),

partial as (

    select
        tasks.task_id,
        cast(max(claims.n_rows_claimed) as bigint) as n_rows_claimed,
        cast(max(claims.n_rows_held) as bigint) as n_rows_held

    from claims
    inner join tasks as told on claims.task_id = told.task_id
    -- what is missing of a run may be missing of each of its tasks
    inner join tasks
        on
            told.task_id = tasks.task_id
            or (
                claims.total_scope = 'run'
                and told.load_id = tasks.load_id
                and told.run_id = tasks.run_id
            )
    group by tasks.task_id

)

select * from partial
