with

cases as (select * from {{ ref('int_verdict_cases') }} where k > 0 and k < n),
run_tests as (select * from {{ ref('int_run_tests') }}),
clusters as (
    select * from {{ ref('stg_tasks__cases') }}
    where task_id in (select cases.task_id from cases)
),

differences as (

    select
        cases.task_id,
        clusters.cluster_id,
        cases.x / cast(cases.k as double)
        - (cases.s - cases.x) / cast(cases.n - cases.k as double) as difference

    from cases
    inner join clusters using (task_id, case_id)

),

-- clusters of one case each are the cases
clustered as (

    select task_id

    from differences
    group by task_id
    having count(distinct cluster_id) < count(*)

),

tested as (

    select
        task_id,
        'errors_left_out' as treatment,
        cluster_id,
        difference

    from differences
    where task_id in (select clustered.task_id from clustered)

    union all

    select
        run_tests.test_id as task_id,
        run_tests.treatment,
        differences.cluster_id,
        differences.difference

    from differences
    inner join run_tests using (task_id)
    where differences.task_id in (select clustered.task_id from clustered)

),

sums as (

    select

        ---------- ids
        task_id,
        cluster_id,

        ---------- strings
        treatment,

        ---------- numerics
        -- thirds that cancel sum to 0
        {{ rounded(exact_sum('difference'), 12) }} as difference

    from tested
    group by task_id, treatment, cluster_id

)

select * from sums
