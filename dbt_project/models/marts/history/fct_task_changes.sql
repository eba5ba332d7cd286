{{ config(materialized='view') }}

-- One row per task: how many of its cases changed since they were last judged.
with

history as (select * from {{ ref('promptlab', 'fct_case_history') }}),

final as (

    select

        ---------- ids
        task_id,

        ---------- strings
        title,

        ---------- numerics
        count(*) filter (where status_change = 'newly_failing' and status <> 'error')
            as n_newly_failing,
        count(*) filter (where status_change = 'newly_failing' and status = 'error')
            as n_newly_in_error,
        count(*) filter (where status_change = 'newly_fixed') as n_newly_fixed

    from history
    group by task_id, title

)

select * from final
