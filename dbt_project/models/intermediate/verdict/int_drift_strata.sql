with

cases as (select * from {{ ref('int_drift_cases') }} where measure = 'pass_rate'),

added_up as (

    select
        task_id,
        case_id,
        run_number,
        n_runs,
        sum(k) over of_case as n,
        sum(x) over of_case as s,
        sum(k) over newer as k,
        sum(x) over newer as x

    from cases
    window
        of_case as (partition by task_id, case_id),
        newer as (
            partition by task_id, case_id order by run_number desc
            rows between unbounded preceding and current row
        )

),

-- a step has two runs on either side at least; that of the newest run is the verdict's
strata as (

    select

        ---------- ids
        task_id,

        ---------- numerics
        run_number as first_run,
        cast(n as bigint) as n,
        cast(s as bigint) as s,
        cast(k as bigint) as k,
        cast(x as bigint) as x

    from added_up
    where run_number between 3 and n_runs - 1

)

select * from strata
