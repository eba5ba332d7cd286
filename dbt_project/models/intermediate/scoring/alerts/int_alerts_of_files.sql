{{ config(materialized=view_of_step()) }}

-- One row per task and alert (`code`) about its file: rows are missing, or do not add up to its totals.
with

partial as (select * from {{ ref('promptlab', 'int_partial_tasks') }} where {{ in_this_build() }}),
claims as (select * from {{ ref('promptlab', 'int_claims') }}),

facts as (

    select
        task_id,
        case when n_rows_held = 0 then 'totals_only' else 'partial_task' end as code,
        n_rows_held as n,
        n_rows_claimed as n_total,
        cast(null as string) as detail

    from partial

    union all

    select
        task_id,
        'totals_differ' as code,
        count(*) filter (where differs) as n,
        count(*) as n_total,
        string_agg(
            case when differs then coalesce(dimension_id, 'n_rows') end, ', ' order by dimension_id
        )
            as detail

    from claims
    group by task_id
    having count(*) filter (where differs) > 0

),

alerts as (

    select
        task_id,
        cast(null as string) as dimension_id,
        code,
        cast(null as double) as value,
        cast(null as double) as limit_value,
        cast(null as string) as unit,
        n,
        n_total,
        cast(null as string) as reason,
        detail,
        cast(0 as bigint) as n_cases,
        cast('[]' as json) as case_ids

    from facts

)

select * from alerts
