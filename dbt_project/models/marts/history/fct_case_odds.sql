{{ config(unique_key='task_id', meta={'batch': 'comparisons', 'mentions': ['since_task_id', 'since_run_id']}) }}

-- One row per task and case of its run, or only of the run that it is compared with: whether it newly
-- fails, since which run, and the odds that this run broke it.
with

variants as (
    select * from {{ ref('promptlab', 'int_task_variants') }}
    where recheck_of is null and {{ in_this_build('comparisons', 'task_id') }}
),
comparability as (select * from {{ ref('promptlab', 'int_case_comparability') }}),
run_odds as (select * from {{ ref('promptlab', 'int_run_odds') }}),
records as (select * from {{ ref('promptlab', 'int_case_records') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

described as (

    select
        comparability.task_id,
        comparability.case_id,
        comparability.reason_not_compared,
        comparability.n_errors,
        comparability.n_rounds_last,
        comparability.n_passed_last,
        comparability.is_gap,
        records.since_run_id,
        records.since_task_id,
        records.since_at,
        coalesce(records.n_passed_now, 0) as n_passed_now,
        coalesce(records.n_rounds_now, 0) as n_rounds_now,
        coalesce(records.n_passed_before, 0) as n_passed_before,
        coalesce(records.n_rounds_before, 0) as n_rounds_before,
        coalesce(records.n_runs_before, 0) as n_runs_before,
        records.n_passed_since,
        records.n_rounds_since,
        coalesce(records.n_rounds_recheck, 0) as n_rounds_recheck,
        records.log_evidence,
        records.odds,
        coalesce(records.is_known_flaky, false) as is_known_flaky,
        run_odds.odds as odds_of_run,
        -- fails more than before, and its rounds fit a break better
        coalesce(
            records.n_passed_now < records.n_rounds_now
            and records.n_passed_now * records.n_rounds_before
            < records.n_passed_before * records.n_rounds_now
            and greatest(records.log_evidence, records.log_evidence_together) > 0,
            false
        ) as is_newly_failing,
        coalesce(
            not comparability.is_gap
            and records.n_passed_now = records.n_rounds_now
            and comparability.n_passed_last < comparability.n_rounds_last,
            false
        ) as is_newly_passing

    from comparability
    inner join variants using (task_id)
    inner join run_odds using (title, run_id)
    left join records using (task_id, case_id)

),

final as (

    select

        ---------- ids
        task_id,
        case_id,
        case when is_newly_failing then since_run_id end as since_run_id,
        case when is_newly_failing then since_task_id end as since_task_id,

        ---------- strings
        case
            when
                is_newly_failing
                and odds >= 1
                and odds_of_run >= policy.refuse_odds
                and not is_known_flaky
                then 'broken'
            when is_newly_failing then 'watched'
            when is_gap or n_rounds_now = 0 then 'not_compared'
            when n_passed_now < n_rounds_now then 'failing'
            else 'passing'
        end as state,
        case
            when is_gap or n_rounds_now = 0 then reason_not_compared
            when n_rounds_before = 0 then 'new'
        end as why,

        ---------- numerics
        cast(n_passed_now as bigint) as n_passed_now,
        cast(n_rounds_now as bigint) as n_rounds_now,
        n_errors as n_errors_now,
        cast(n_rounds_recheck as bigint) as n_rounds_recheck,
        n_passed_last,
        n_rounds_last,
        cast(n_passed_before as bigint) as n_passed_before,
        cast(n_rounds_before as bigint) as n_rounds_before,
        cast(n_runs_before as bigint) as n_runs_before,
        cast(case when is_newly_failing then n_passed_since end as bigint) as n_passed_since,
        cast(case when is_newly_failing then n_rounds_since end as bigint) as n_rounds_since,
        cast(case when is_newly_failing then n_passed_now + n_passed_before - n_passed_since end as bigint)
            as n_passed_until,
        cast(case when is_newly_failing then n_rounds_now + n_rounds_before - n_rounds_since end as bigint)
            as n_rounds_until,
        log_evidence,
        round(odds, 9) as odds,

        ---------- booleans
        is_newly_failing,
        is_newly_passing,
        is_known_flaky,
        is_gap,

        ---------- timestamps
        case when is_newly_failing then since_at end as since_at

    from described
    cross join policy

)

select * from final
