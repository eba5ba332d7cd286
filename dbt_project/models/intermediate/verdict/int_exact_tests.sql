with

sums as (select * from {{ ref('promptlab', 'int_test_sums') }}),
waves as (select * from {{ ref('promptlab', 'int_test_waves') }}),
ranks as (select * from {{ ref('promptlab', 'int_rank_tests') }}),

-- the window covers every possible sum
tested as (

    select
        sums.task_id,
        sums.treatment,
        sums.statistic,
        sums.n_tests,
        case
            when sums.observed < sums.window_start then 1e0
            when sums.observed >= sums.window_start + sums.window_length then 0e0
            else greatest(0e0, least(1e0, {{ mid_p_of_sum('sums.observed') }}))
        end as p

    from sums
    inner join waves using (task_id, treatment, statistic)
    group by
        sums.task_id,
        sums.treatment,
        sums.statistic,
        sums.n_tests,
        sums.observed,
        sums.window_start,
        sums.window_length

),

-- scores have ranks, which tell more of a small decline than the share of low scores
with_ranks as (

    select
        tested.task_id,
        tested.treatment,
        case when ranks.p is null then tested.n_tests else 2 end as n_tests,
        tested.statistic,
        case
            when tested.statistic = 'broad' then coalesce(ranks.p, tested.p)
            else tested.p
        end as p

    from tested
    left join ranks using (task_id, treatment)

),

tests as (

    select

        ---------- ids
        task_id,

        ---------- strings
        treatment,

        ---------- numerics
        max(case when statistic = 'few' then p end) as p_few,
        max(case when statistic = 'broad' then p end) as p_broad,
        least(1e0, max(n_tests) * min(p)) as p

    from with_ranks
    group by task_id, treatment

)

select * from tests
