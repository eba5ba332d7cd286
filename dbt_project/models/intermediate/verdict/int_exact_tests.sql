with

sums as (select * from {{ ref('int_test_sums') }}),
waves as (select * from {{ ref('int_test_waves') }}),

tails as (

    select
        sums.task_id,
        sums.treatment,
        sums.statistic,
        {{ chance_of_sum('sums.observed') }} as p_equal,
        {{ chance_of_sum_from('sums.observed') }} as p_at_least

    from sums
    inner join waves using (task_id, treatment, statistic)
    where
        sums.observed >= sums.window_start
        and sums.observed < sums.window_start + sums.window_length
    group by sums.task_id, sums.treatment, sums.statistic

),

-- half of the chance of what was seen; outside of the window lies nothing
halved as (

    select
        sums.task_id,
        sums.treatment,
        sums.statistic,
        case
            when sums.observed >= sums.window_start + sums.window_length then 0e0
            when sums.observed < sums.window_start then 1e0
            else greatest(0e0, tails.p_at_least - tails.p_equal / 2)
        end as p

    from sums
    left join tails using (task_id, treatment, statistic)

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
        least(1e0, 2 * min(p)) as p

    from halved
    group by task_id, treatment

)

select * from tests
