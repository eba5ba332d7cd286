with

cases as (select * from {{ ref('promptlab', 'int_verdict_cases') }} where k > 0 and k < n),
rounds as (
    select * from {{ ref('promptlab', 'int_rounds_counted') }}
    where k > 0 and task_id in (select cases.task_id from cases)
),
run_tests as (select * from {{ ref('promptlab', 'int_run_tests') }}),
clusters as (
    select * from {{ ref('promptlab', 'stg_tasks__cases') }}
    where task_id in (select cases.task_id from cases)
),

-- clusters of one case each are the cases
clustered as (

    select cases.task_id

    from cases
    inner join clusters using (task_id, case_id)
    group by cases.task_id
    having count(distinct clusters.cluster_id) < count(*)

),

tests as (

    select
        task_id,
        task_id as test_id,
        'errors_left_out' as treatment

    from clustered

    union all

    select
        clustered.task_id,
        run_tests.test_id,
        run_tests.treatment

    from clustered
    inner join run_tests using (task_id)

),

-- the task is at place 0, its reference runs are at the others
places as (

    select distinct
        tests.test_id,
        tests.treatment,
        rounds.place

    from tests
    inner join rounds using (task_id)

),

-- a run that lacks a case is taken to have answered it as the task did
rates as (

    select
        tests.test_id,
        tests.treatment,
        clusters.cluster_id,
        places.place,
        coalesce(
            rounds.x / cast(rounds.k as double), cases.x / cast(cases.k as double)
        ) as pass_rate

    from tests
    inner join cases using (task_id)
    inner join clusters using (task_id, case_id)
    inner join places using (test_id, treatment)
    left join rounds
        on
            tests.task_id = rounds.task_id
            and cases.case_id = rounds.case_id
            and places.place = rounds.place

),

sums as (

    select

        ---------- ids
        test_id as task_id,
        cluster_id,

        ---------- strings
        treatment,

        ---------- numerics
        place,
        -- thirds that sum to a whole number are equal to it
        {{ rounded(exact_sum('pass_rate'), 12) }} as pass_rates

    from rates
    group by test_id, treatment, cluster_id, place

)

select * from sums
