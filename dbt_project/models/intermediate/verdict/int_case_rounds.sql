{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

with

rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),
written as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }} where {{ in_this_build() }}),
results as (select * from {{ ref('promptlab', 'int_round_results') }} where status <> 'unevaluated'),

placed as (

    select
        results.task_id,
        results.case_id,
        results.status,
        results.must_have_pass,
        coalesce(written.is_cached, false) as is_copied,
        row_number() over (
            partition by results.task_id, results.case_id
            order by
                case when results.status = 'error' then 1 else 0 end,
                rounds.run_index nulls last,
                results.round_id
        ) as place

    from results
    inner join rounds using (task_id, case_id, round_id)
    inner join written using (task_id, case_id, round_id)

),

counted as (

    select

        ---------- ids
        task_id,
        case_id,

        ---------- numerics
        count(*) filter (where status <> 'error') as n_rounds,
        count(*) filter (where status = 'pass') as n_passed,
        count(*) filter (where status = 'error') as n_errors,
        count(*) filter (
            where status <> 'error' and not must_have_pass
        ) as n_must_haves_lost,

        ---------- booleans
        bool_or(place = 1 and status = 'pass') as is_first_passed,
        bool_or(is_copied) as has_copies,
        bool_and(is_copied) as has_only_copies

    from placed
    group by task_id, case_id

)

select * from counted
