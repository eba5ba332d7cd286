with

cases as (select * from {{ ref('promptlab', 'int_verdict_cases') }}),
rechecked as (select * from {{ ref('promptlab', 'int_recheck_cases') }} where reference <> 'none'),
drift_cases as (select * from {{ ref('promptlab', 'int_drift_cases') }} where measure = 'pass_rate'),
run_tests as (select * from {{ ref('promptlab', 'int_run_tests') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

-- errors are not answers; if there are many, the test is repeated as if each had passed
in_error as (

    select cases.task_id

    from cases
    cross join policy
    group by cases.task_id, policy.max_error_share
    having
        greatest(
            sum(cases.n_errors_now) / nullif(cast(sum(cases.k + cases.n_errors_now) as double), 0),
            sum(cases.n_errors - cases.n_errors_now) / nullif(
                cast(sum(cases.n - cases.k + cases.n_errors - cases.n_errors_now) as double), 0
            )
        ) > policy.max_error_share

),

-- all runs from one on against those before
drift as (

    select
        task_id,
        case_id,
        run_number,
        n_runs,
        cast(sum(k) over of_case as bigint) as n,
        cast(sum(x) over of_case as bigint) as s,
        cast(sum(k) over newer as bigint) as k,
        cast(sum(x) over newer as bigint) as x

    from drift_cases
    window
        of_case as (partition by task_id, case_id),
        newer as (
            partition by task_id, case_id order by run_number desc
            rows between unbounded preceding and current row
        )

),

treated as (

    select
        task_id,
        'errors_left_out' as treatment,
        n,
        s,
        k,
        x

    from cases

    union all

    select
        task_id,
        'errors_as_passes' as treatment,
        n + n_lost as n,
        s + n_lost as s,
        k + n_lost_now as k,
        x + n_lost_now as x

    from cases
    where task_id in (select in_error.task_id from in_error)

    union all

    -- new rounds of both sides, and nothing that selected the cases; not those of cases that were
    -- asked with them, and did not pass in the baseline alone
    select
        rechecked.task_id,
        'recheck' as treatment,
        rechecked.k + rechecked.k_before as n,
        rechecked.x + rechecked.x_before as s,
        rechecked.k,
        rechecked.x

    from rechecked
    inner join cases using (task_id, case_id)
    where
        cases.measure = 'verdict'
        and cases.x_baseline = cases.k_baseline
        and cases.n_passed_now < cases.n_rounds_now

    union all

    -- variants of one run, all of their cases together
    select
        run_tests.test_id as task_id,
        run_tests.treatment,
        cases.n,
        cases.s,
        cases.k,
        cases.x

    from cases
    inner join run_tests using (task_id)

    union all

    -- a step has two runs on either side at least; that of the newest run is the verdict's
    select
        task_id,
        'since_' || cast(run_number as string) as treatment,
        n,
        s,
        k,
        x

    from drift
    where run_number between 3 and n_runs - 1

),

-- cases with equal numbers are one stratum, as often as they are there
strata as (

    select
        task_id,
        treatment,
        n,
        s,
        k,
        x,
        count(*) as n_cases

    from treated
    where k > 0 and k < n and s > 0 and s < n
    group by task_id, treatment, n, s, k, x

)

select * from strata
