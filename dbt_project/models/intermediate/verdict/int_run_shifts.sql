with

rounds as (select * from {{ ref('promptlab', 'int_rounds_counted') }} where place > 0 and k > 0),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),
run_tests as (select * from {{ ref('promptlab', 'int_run_tests') }}),
tasks as (select * from {{ ref('promptlab', 'int_task_variants') }}),

-- each reference run against all others of its prompt version
compared as (

    select
        task_id,
        run_task_id,
        coalesce(prompt_version, '') as prompt_version,
        k,
        x,
        sum(k) over (partition by task_id, prompt_version, case_id) as n,
        sum(x) over (partition by task_id, prompt_version, case_id) as s

    from rounds

),

summed as (

    select
        task_id,
        run_task_id,
        prompt_version,
        {{ exact_sum('k * s / cast(n as double) - x') }} as shift,
        {{ exact_sum(
            'k * s / cast(n as double) * (n - s) / cast(n as double) * (n - k)'
            ' / cast(n - 1 as double)'
        ) }} as variance

    from compared
    where n > k
    group by task_id, run_task_id, prompt_version

),

-- variants of one run are compared with whole runs, too
summed_by_run as (

    select * from summed

    union all

    select
        run_tests.test_id as task_id,
        tasks.run_id as run_task_id,
        '' as prompt_version,
        sum(summed.shift) as shift,
        sum(summed.variance) as variance

    from summed
    inner join run_tests using (task_id)
    inner join tasks on summed.run_task_id = tasks.task_id
    group by run_tests.test_id, tasks.run_id

),

counted as (

    select
        *,
        count(*) over (partition by task_id, prompt_version) as n_alike

    from summed_by_run

),

-- each run is part of what it is compared with: of n squares, each 1 on average, n - 1 are free
spread as (

    select
        task_id,
        count(*) as n_runs,
        count(*) - count(distinct prompt_version) as df,
        {{ exact_sum(
            'case'
            ' when variance > 0'
            ' then shift * shift / variance * (n_alike - 1) / cast(n_alike as double)'
            ' else 0'
            ' end'
        ) }} as chi_square

    from counted
    group by task_id

),

shifts as (

    select

        ---------- ids
        spread.task_id,

        ---------- numerics
        spread.df,
        {{ rounded('sqrt(spread.chi_square / spread.df)', 9) }} as spread,

        ---------- booleans
        -- exceeded in one case of ten (Wilson and Hilferty, right to half a percent from 4 degrees
        -- of freedom on)
        spread.chi_square > spread.df * power(
            1 - 2 / (9e0 * spread.df) + 1.2815515655446004e0 * sqrt(2 / (9e0 * spread.df)), 3
        ) as is_shifting

    from spread
    cross join policy
    where spread.n_runs >= policy.min_runs_shift

)

select * from shifts
