{{ config(materialized='table') }}

-- One row per task and variant, or title, that its last run had and its own run lacks.
with

variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
variant_histories as (select * from {{ ref('promptlab', 'int_variant_histories') }}),
last_runs as (select * from {{ ref('promptlab', 'int_last_runs') }}),
baselines as (select * from {{ ref('promptlab', 'int_task_baselines') }}),
outages as (select * from {{ ref('promptlab', 'int_known_outages') }}),
to_build as (

    select distinct
        title,
        run_id

    from variants
    where {{ in_this_build('comparisons', 'task_id') }}

),

earlier_variants as (

    select variants.*

    from variants
    left join outages using (task_id)
    where outages.task_id is null

),

missing as (

    select
        last_runs.title,
        last_runs.run_id,
        'variant_gone' as reason,
        earlier.variant as name,
        earlier.task_id as gone_task_id

    from last_runs
    inner join to_build using (title, run_id)
    inner join earlier_variants as earlier
        on last_runs.title = earlier.title and last_runs.last_run_id = earlier.run_id
    inner join baselines on earlier.task_id = baselines.task_id
    left join variant_histories as kept
        on
            last_runs.title = kept.title
            and last_runs.run_id = kept.run_id
            and earlier.variant = kept.history_variant
    where
        kept.variant is null
        -- a variant that ran once may be one of several that run side by side, each in a run by itself
        and (last_runs.has_shared_variant or baselines.last_task_id is not null)

    union all

    select
        last_runs.title,
        last_runs.run_id,
        'title_gone' as reason,
        earlier.title as name,
        earlier.task_id as gone_task_id

    from last_runs
    inner join to_build using (title, run_id)
    inner join earlier_variants as earlier
        on last_runs.last_run_id = earlier.run_id and last_runs.title <> earlier.title
    left join variants as kept
        on last_runs.run_id = kept.run_id and earlier.title = kept.title
    where kept.task_id is null and last_runs.has_shared_variant

),

case_rounds as (
    select * from {{ ref('promptlab', 'int_case_rounds') }}
    where n_rounds > 0 and task_id in (select missing.gone_task_id from missing)
),

case_counts as (

    select
        missing.title,
        missing.run_id,
        missing.reason,
        missing.name,
        count(case_rounds.case_id) as n_cases

    from missing
    left join case_rounds on missing.gone_task_id = case_rounds.task_id
    group by missing.title, missing.run_id, missing.reason, missing.name

),

final as (

    select

        ---------- ids
        variants.task_id,

        ---------- strings
        case_counts.reason,
        case_counts.name,

        ---------- numerics
        case_counts.n_cases

    from variants
    inner join case_counts using (title, run_id)

)

select * from final
