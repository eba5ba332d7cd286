with

rounds as (select * from {{ ref('promptlab', 'int_rounds_counted') }}),

-- the baseline's rounds of a case; where it has none, those of the newest run that has
newest as (

    select
        task_id,
        case_id,
        k,
        x,
        row_number() over (partition by task_id, case_id order by place) as newness

    from rounds
    where place > 0 and k > 0

),

summed as (

    select
        task_id,
        case_id,
        sum(k) as n,
        sum(x) as s,
        coalesce(sum(case when place = 0 then k end), 0) as k,
        coalesce(sum(case when place = 0 then x end), 0) as x,
        coalesce(sum(n_rounds), 0) as n_rounds,
        coalesce(sum(n_passed), 0) as n_passed,
        coalesce(sum(case when place = 0 then n_rounds end), 0) as n_rounds_now,
        coalesce(sum(case when place = 0 then n_passed end), 0) as n_passed_now,
        sum(n_errors) as n_errors,
        coalesce(sum(case when place = 0 then n_errors end), 0) as n_errors_now,
        sum(n_lost) as n_lost,
        coalesce(sum(case when place = 0 then n_lost end), 0) as n_lost_now,
        count(*) as n_runs,
        max(measure) as measure,
        bool_or(place = 0) as is_in_task

    from rounds
    group by task_id, case_id

),

cases as (

    select

        ---------- ids
        summed.task_id,
        summed.case_id,

        ---------- strings
        summed.measure,

        ---------- numerics
        cast(summed.n as bigint) as n,
        cast(summed.s as bigint) as s,
        cast(summed.k as bigint) as k,
        cast(summed.x as bigint) as x,
        cast(coalesce(newest.k, 0) as bigint) as k_baseline,
        cast(coalesce(newest.x, 0) as bigint) as x_baseline,
        cast(summed.n_rounds as bigint) as n_rounds,
        cast(summed.n_passed as bigint) as n_passed,
        cast(summed.n_rounds_now as bigint) as n_rounds_now,
        cast(summed.n_passed_now as bigint) as n_passed_now,
        cast(summed.n_errors as bigint) as n_errors,
        cast(summed.n_errors_now as bigint) as n_errors_now,
        cast(summed.n_lost as bigint) as n_lost,
        cast(summed.n_lost_now as bigint) as n_lost_now

    from summed
    left join newest
        on
            summed.task_id = newest.task_id
            and summed.case_id = newest.case_id
            and newest.newness = 1
    where summed.is_in_task and summed.n_runs > 1

)

select * from cases
