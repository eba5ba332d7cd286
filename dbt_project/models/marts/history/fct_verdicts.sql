{{ config(
    unique_key='task_id', meta={'batch': 'comparisons', 'mentions': ['baseline_task_id']}
) }}

with

reference_runs as (
    select * from {{ ref('promptlab', 'int_reference_runs') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),
runs_tested as (select * from {{ ref('promptlab', 'int_verdict_runs') }}),
cases as (select * from {{ ref('promptlab', 'int_verdict_cases') }} where measure = 'verdict'),
scored_cases as (select * from {{ ref('promptlab', 'int_verdict_cases') }} where measure = 'score'),
tested as (select * from {{ ref('promptlab', 'int_verdict_cases_tested') }}),
p_values as (select * from {{ ref('promptlab', 'int_verdict_p_values') }}),
clusters as (
    select * from {{ ref('promptlab', 'int_cluster_tests') }}
    where treatment = 'errors_left_out'
),
run_p_values as (select * from {{ ref('promptlab', 'int_run_p_values') }}),
levels as (select * from {{ ref('promptlab', 'int_test_levels') }}),
correlations as (select * from {{ ref('promptlab', 'int_round_correlations') }}),
shifts as (select * from {{ ref('promptlab', 'int_run_shifts') }}),
assumptions as (select * from {{ ref('promptlab', 'int_verdict_assumptions') }}),
powers as (select * from {{ ref('promptlab', 'int_verdict_powers') }}),
variants as (select * from {{ ref('promptlab', 'int_task_variants') }}),
case_verdicts as (
    select * from {{ ref('promptlab', 'fct_verdict_cases') }}
    where {{ in_this_build('comparisons', 'task_id') }}
),

rechecked as (

    select
        task_id,
        count(recheck_place) as n_to_recheck,
        count(*) filter (where is_rechecked) as n_rechecked,
        count(*) filter (where is_broken_alone) as n_broken_alone,
        count(recheck_place) filter (
            where n_rounds_rechecked > 0 and recheck_reference <> 'none'
        ) as n_tested_again

    from case_verdicts
    group by task_id

),

runs as (

    select
        reference_runs.task_id,
        max(
            case when reference_runs.place = 1 then reference_runs.reference_task_id end
        ) as baseline_task_id,
        count(runs_tested.reference_task_id) as n_reference_runs,
        count(*) filter (where reference_runs.tier > 1) as n_runs_of_other_versions

    from reference_runs
    left join runs_tested using (task_id, reference_task_id)
    group by reference_runs.task_id

),

counted as (

    select
        cases.task_id,
        count(tested.p) as n_cases,
        count(*) filter (where cases.s > 0 and cases.s < cases.n and tested.p is not null)
            as n_cases_varying,
        sum(cases.k) filter (where tested.p is not null) as n_rounds_now,
        -- half of the cases have so many: one error, or a few cases with more, change nothing
        floor(percentile_cont(0.5) within group (
            order by case when tested.p is not null then cases.k end
        )) as n_rounds_per_case,
        floor(percentile_cont(0.5) within group (
            order by case when tested.p is not null then cases.n_rounds_now end
        )) as n_rounds_run_per_case,
        sum(cases.x) filter (where tested.p is not null) as n_passed_now,
        sum(cases.n_errors_now) as n_errors_now,
        sum(cases.n - cases.k) filter (where tested.p is not null) as n_rounds_before,
        sum(cases.s - cases.x) filter (where tested.p is not null) as n_passed_before,
        sum(cases.n_errors - cases.n_errors_now) as n_errors_before,
        count(*) filter (where tested.is_newly_failing) as n_newly_failing,
        count(*) filter (where tested.is_newly_passing) as n_newly_passing,
        {{ exact_sum(
            'case when tested.p is not null'
            ' then tested.chance_baseline_passes - tested.chance_both_pass end'
        ) }} as n_newly_failing_by_chance,
        {{ exact_sum(
            'case when tested.p is not null'
            ' then tested.chance_passes - tested.chance_both_pass end'
        ) }} as n_newly_passing_by_chance,
        count(*) filter (where tested.is_listed) as n_listed,
        max(case when tested.is_listed then tested.n_by_chance end) as n_listed_by_chance

    from cases
    inner join tested using (task_id, case_id)
    group by cases.task_id

),

-- tasks without verdicts
scored as (

    select
        scored_cases.task_id,
        count(tested.p) as n_cases,
        count(*) filter (where tested.is_listed) as n_listed

    from scored_cases
    inner join tested using (task_id, case_id)
    group by scored_cases.task_id

),

-- the variants of a run share the false alarms of its re-check: Simes, by the steps of
-- Benjamini and Hochberg
p_rechecks as (

    select
        rechecked.task_id,
        variants.run_id,
        coalesce(p_values.p, 1e0) as p

    from rechecked
    inner join variants on rechecked.task_id = variants.task_id
    left join p_values
        on rechecked.task_id = p_values.task_id and p_values.treatment = 'recheck'
    where rechecked.n_tested_again > 0

),

stepped as (

    select
        *,
        p * count(*) over (partition by run_id)
        / row_number() over (partition by run_id order by p, task_id) as p_stepped

    from p_rechecks

),

of_rechecks as (

    select
        task_id,
        p,
        min(p_stepped) over (
            partition by run_id order by p asc, task_id asc
            rows between current row and unbounded following
        ) as p_in_run

    from stepped

),

final as (

    select

        ---------- ids
        runs.task_id,
        runs.baseline_task_id,

        ---------- strings
        case
            when coalesce(counted.n_cases, 0) = 0 then null
            when shifts.task_id is null then 'too_few_runs'
            when coalesce(p_values.is_calibrated, false) then 'run_shifts'
            else 'not_needed'
        end as calibration,

        ---------- numerics
        runs.n_reference_runs,
        runs.n_runs_of_other_versions,
        coalesce(counted.n_cases, 0) as n_cases,
        coalesce(counted.n_cases_varying, 0) as n_cases_varying,
        cast(coalesce(counted.n_rounds_now, 0) as bigint) as n_rounds_now,
        cast(counted.n_rounds_per_case as bigint) as n_rounds_per_case,
        cast(counted.n_rounds_run_per_case as bigint) as n_rounds_run_per_case,
        cast(coalesce(counted.n_passed_now, 0) as bigint) as n_passed_now,
        cast(coalesce(counted.n_errors_now, 0) as bigint) as n_errors_now,
        cast(coalesce(counted.n_rounds_before, 0) as bigint) as n_rounds_before,
        cast(coalesce(counted.n_passed_before, 0) as bigint) as n_passed_before,
        cast(coalesce(counted.n_errors_before, 0) as bigint) as n_errors_before,
        coalesce(counted.n_newly_failing, 0) as n_newly_failing,
        {{ rounded('counted.n_newly_failing_by_chance') }} as n_newly_failing_by_chance,
        coalesce(counted.n_newly_passing, 0) as n_newly_passing,
        {{ rounded('counted.n_newly_passing_by_chance') }} as n_newly_passing_by_chance,
        coalesce(counted.n_listed, 0) as n_listed,
        {{ rounded('counted.n_listed_by_chance') }} as n_listed_by_chance,
        -- where every round of every case is alike nothing speaks against the task
        case when counted.n_cases > 0 then coalesce(p_values.p_few, 1e0) end as p_few,
        case when counted.n_cases > 0 then coalesce(p_values.p_broad, 1e0) end as p_broad,
        case when counted.n_cases > 0 then coalesce(p_values.p_uncalibrated, 1e0) end
            as p_uncalibrated,
        case when counted.n_cases > 0 then coalesce(p_values.p, 1e0) end as p,
        clusters.p as p_clusters,
        clusters.n_clusters,
        of_errors.p as p_errors_as_passes,
        case when counted.n_cases > 0 then coalesce(run_p_values.n_variants, 1) end as n_variants,
        case when counted.n_cases > 0 then coalesce(run_p_values.p_run, p_values.p, 1e0) end
            as p_run,
        case when counted.n_cases > 0 then coalesce(run_p_values.p_in_run, p_values.p, 1e0) end
            as p_in_run,
        run_p_values.p_unchanged,
        coalesce(scored.n_cases, 0) as n_cases_scored,
        coalesce(scored.n_listed, 0) as n_scores_listed,
        case when scored.n_cases > 0 then coalesce(run_p_values.p_in_run, p_values.p, 1e0) end
            as p_scores,
        -- clusters are another test, and so are the variants of a run (p_in_run)
        case
            when
                counted.n_cases > 0
                and clusters.n_clusters is null
                and run_p_values.task_id is null
                then coalesce({{ rounded('levels.level') }}, 0e0)
        end as attained_level,
        -- the simulated runs do not differ as a whole
        case
            when
                clusters.n_clusters is null
                and run_p_values.task_id is null
                and not coalesce(p_values.is_calibrated, false)
                then powers.share_found
        end as power_of_one_break,
        correlations.correlation as round_correlation,
        {{ rounded('shifts.spread') }} as run_spread,
        coalesce(rechecked.n_to_recheck, 0) as n_to_recheck,
        coalesce(rechecked.n_rechecked, 0) as n_rechecked,
        coalesce(rechecked.n_broken_alone, 0) as n_broken_alone,
        of_rechecks.p as p_recheck,
        {{ rounded('of_rechecks.p_in_run', 9) }} as p_recheck_in_run,

        ---------- booleans
        coalesce(correlations.is_correlated, false) as is_one_round_per_run,

        ---------- json
        coalesce(assumptions.assumptions, {{ as_json("'[]'") }}) as assumptions

    from runs
    left join counted using (task_id)
    left join scored using (task_id)
    left join p_values
        on runs.task_id = p_values.task_id and p_values.treatment = 'errors_left_out'
    left join p_values as of_errors
        on runs.task_id = of_errors.task_id and of_errors.treatment = 'errors_as_passes'
    left join clusters on runs.task_id = clusters.task_id
    left join of_rechecks on runs.task_id = of_rechecks.task_id
    left join rechecked on runs.task_id = rechecked.task_id
    left join powers on runs.task_id = powers.task_id
    left join run_p_values on runs.task_id = run_p_values.task_id
    left join levels on runs.task_id = levels.task_id
    left join correlations on runs.task_id = correlations.task_id
    left join shifts on runs.task_id = shifts.task_id
    left join assumptions on runs.task_id = assumptions.task_id

)

select * from final
