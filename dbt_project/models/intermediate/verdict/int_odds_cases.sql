{{ config(materialized='table') }}

-- One row per history, task and case: the odds that this run broke the case, in this variant alone
-- (`odds_in_one`) and in all variants at once (`odds_in_all`): the evidence, if one case is expected to break.
with

series as (select * from {{ ref('promptlab', 'int_odds_series') }}),
cells as (select * from {{ ref('promptlab', 'int_odds_cells') }}),
evidence as (select * from {{ ref('promptlab', 'int_odds_evidence') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),
variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),
quarantines as (select * from {{ ref('promptlab', 'stg_builds__settings') }} where setting = 'known_flaky'),

known_flaky as (

    select distinct
        variants.task_id,
        quarantines.setting_value as case_id

    from variants
    inner join quarantines
        on
            variants.title = quarantines.setting_name
            and (
                quarantines.ends_on is null
                or cast(variants.created_at as date) <= quarantines.ends_on
            )

),

round_counts as (

    select
        series_id,
        case_id,
        coalesce(max(case when runs_ago = 0 then n end), 0) as n_now,
        coalesce(sum(case when runs_ago > 0 then n end), 0) as n_before

    from cells
    group by series_id, case_id

),

history_sizes as (

    select
        series.title,
        series.run_id,
        series.history,
        count(distinct round_counts.case_id) as n_cases

    from series
    inner join round_counts using (series_id)
    where series.task_id is not null and round_counts.n_now > 0 and round_counts.n_before > 0
    group by series.title, series.run_id, series.history

),

together as (

    select
        series.title,
        series.run_id,
        series.history,
        evidence.case_id,
        evidence.log_evidence,
        evidence.n_broken_runs

    from series
    inner join evidence using (series_id)
    where series.task_id is null

),

weighed as (

    select
        series.series_id,
        series.title,
        series.run_id,
        series.history,
        series.task_id,
        round_counts.case_id,
        evidence.log_evidence,
        together.log_evidence as log_evidence_together,
        -- -50 is no evidence at all: where likelihood_ratio ends
        case
            when together.log_evidence > coalesce(evidence.log_evidence, -50)
                then together.n_broken_runs
            else evidence.n_broken_runs
        end as n_broken_runs,
        -- one case is expected to break: half of the time in one variant, else in all
        {{ likelihood_ratio('evidence.log_evidence') }}
        / greatest(coalesce(history_sizes.n_cases, 0), policy.min_cases)
        / case when series.n_variants > 1 then 2 * series.n_variants else 1 end as odds_in_one,
        {{ likelihood_ratio('together.log_evidence') }}
        / greatest(coalesce(history_sizes.n_cases, 0), policy.min_cases) / 2 as odds_in_all,
        known_flaky.case_id is not null as is_known_flaky

    from series
    inner join round_counts using (series_id)
    cross join policy
    left join history_sizes using (title, run_id, history)
    left join evidence using (series_id, case_id)
    left join together using (title, run_id, history, case_id)
    left join known_flaky using (task_id, case_id)
    where series.task_id is not null

)

select * from weighed
