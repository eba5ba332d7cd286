with

rounds as (select * from {{ ref('int_rounds_counted') }} where place <> 0 and k > 0),
policy as (select * from {{ ref('verdict_policy') }}),
run_tests as (select * from {{ ref('int_run_tests') }}),
tasks as (select * from {{ ref('int_task_variants') }}),

-- each reference run against the others of its prompt version, and a refused one against all
compared as (

    select
        task_id,
        run_task_id,
        coalesce(prompt_version, '') as prompt_version,
        place < 0 as is_refused,
        k,
        x,
        sum(case when place > 0 then k else 0 end) over same_case
        + case when place < 0 then k else 0 end as n,
        sum(case when place > 0 then x else 0 end) over same_case
        + case when place < 0 then x else 0 end as s

    from rounds
    window same_case as (partition by task_id, prompt_version, case_id)

),

summed as (

    select
        task_id,
        run_task_id,
        prompt_version,
        is_refused,
        {{ exact_sum('k * s / cast(n as double) - x') }} as shift,
        {{ exact_sum(
            'k * s / cast(n as double) * (n - s) / cast(n as double) * (n - k)'
            ' / cast(n - 1 as double)'
        ) }} as variance

    from compared
    where n > k
    group by task_id, run_task_id, prompt_version, is_refused

),

-- variants of one run are compared with whole runs, too
summed_by_run as (

    select * from summed

    union all

    select
        run_tests.test_id as task_id,
        tasks.run_id as run_task_id,
        '' as prompt_version,
        summed.is_refused,
        sum(summed.shift) as shift,
        sum(summed.variance) as variance

    from summed
    inner join run_tests using (task_id)
    inner join tasks on summed.run_task_id = tasks.task_id
    group by run_tests.test_id, tasks.run_id, summed.is_refused

),

squares as (

    select
        *,
        case when variance > 0 then shift * shift / variance else 0 end as square,
        count(case when not is_refused then 1 end) over (
            partition by task_id, prompt_version
        ) as n_alike

    from summed_by_run

),

-- An accepted run is a part of what it is compared with: of n squares, each 1 on average, n - 1
-- are free. A refused one may have been a break that was fixed, and counts up to a limit.
limited as (

    select
        squares.task_id,
        squares.prompt_version,
        case
            when squares.is_refused
                then least(squares.square, power(policy.max_refused_shift, 2))
            else squares.square * (squares.n_alike - 1) / cast(squares.n_alike as double)
        end as square

    from squares
    cross join policy

),

spread as (

    select
        task_id,
        count(*) as n_runs,
        count(*) - count(distinct prompt_version) as df,
        {{ exact_sum('square') }} as chi_square

    from limited
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
