with

scores as (select * from {{ ref('int_verdict_scores') }}),
correlations as (select * from {{ ref('int_round_correlations') }} where is_correlated),
run_tests as (select * from {{ ref('int_run_tests') }}),

-- the sum of ranks of the task's rounds, and its mean and variance if all rounds are alike
cases as (

    select
        task_id,
        case_id,
        max(n) as n,
        sum(case when place = 0 then n_rounds else 0 end) as k,
        sum(case when place = 0 then sum_of_ranks else 0 end) as own_ranks,
        sum(sum_of_squares) as sum_of_squares

    from scores
    where task_id not in (select correlations.task_id from correlations)
    group by task_id, case_id

),

tested as (

    select
        task_id,
        'errors_left_out' as treatment,
        n,
        k,
        own_ranks,
        sum_of_squares

    from cases

    union all

    select
        run_tests.test_id as task_id,
        run_tests.treatment,
        cases.n,
        cases.k,
        cases.own_ranks,
        cases.sum_of_squares

    from cases
    inner join run_tests using (task_id)

),

-- van Elteren: each case weighs as its ranks are fine
summed as (

    select
        task_id,
        treatment,
        {{ exact_sum('(k * (n + 1) / 2e0 - own_ranks) / (n + 1)') }} as shift,
        {{ exact_sum(
            'k * (n - k) / cast(n * (n - 1) as double) * sum_of_squares / ((n + 1) * (n + 1))'
        ) }} as variance

    from tested
    group by task_id, treatment

),

standardized as (

    select
        *,
        shift / sqrt(variance) as z

    from summed
    where variance > 0

),

tests as (

    select

        ---------- ids
        task_id,

        ---------- strings
        treatment,

        ---------- numerics
        {{ rounded(p_of_z('z'), 12) }} as p

    from standardized

)

select * from tests
