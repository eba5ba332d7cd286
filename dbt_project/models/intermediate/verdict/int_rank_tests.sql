with

scores as (select * from {{ ref('promptlab', 'int_verdict_scores') }}),
correlations as (select * from {{ ref('promptlab', 'int_round_correlations') }} where is_correlated),
run_tests as (select * from {{ ref('promptlab', 'int_run_tests') }}),

-- the sum of ranks of the task's rounds, and its mean and variance if all rounds are alike
cases as (

    select
        task_id,
        case_id,
        max(n) as n,
        sum(case when place = 0 then n_rounds else 0 end) as k,
        sum(case when place = 0 then sum_of_ranks else 0 end) as own_ranks,
        sum(sum_of_squares) as sum_of_squares,
        sum(sum_of_cubes) as sum_of_cubes

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
        sum_of_squares,
        sum_of_cubes

    from cases

    union all

    select
        run_tests.test_id as task_id,
        run_tests.treatment,
        cases.n,
        cases.k,
        cases.own_ranks,
        cases.sum_of_squares,
        cases.sum_of_cubes

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
            'k * (n - k) / cast(n * (n - 1) as double) * sum_of_squares / power(n + 1, 2)'
        ) }} as variance,
        {{ exact_sum(
            '-k * (n - k) * (n - 2 * k) / cast(n * (n - 1) * (n - 2) as double)'
            ' * sum_of_cubes / power(n + 1, 3)'
        ) }} as third_moment

    from tested
    group by task_id, treatment

),

standardized as (

    select
        *,
        shift / sqrt(variance) as z,
        third_moment / power(variance, 1.5) as skewness

    from summed
    where variance > 0

),

-- the sum has a gamma distribution with its first three moments (Wilson and Hilferty); where few
-- rounds are low it is too uneven for any curve, and only the test of low scores is exact
curved as (

    select
        task_id,
        treatment,
        case
            when abs(skewness) < 1e-4 then z
            else
                6 / skewness * (power(greatest(0, 1 + skewness * z / 2), 1 / 3e0) - 1)
                + skewness / 6
        end as z

    from standardized
    where abs(skewness) <= 0.5

),

tests as (

    select

        ---------- ids
        task_id,

        ---------- strings
        treatment,

        ---------- numerics
        {{ rounded(p_of_z('z'), 12) }} as p

    from curved

)

select * from tests
