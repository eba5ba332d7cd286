with

-- cases with rounds on both sides
cases as (
    select * from {{ ref('promptlab', 'int_verdict_cases') }}
    where measure = 'verdict' and k > 0 and k < n
),
simulated as (select * from {{ ref('promptlab', 'promptlab_verdict_power') }}),

counted as (

    select
        task_id,
        count(*) as n_cases

    from cases
    group by task_id

),

-- the simulated suites of the next size
sized as (

    select *

    from (
        select
            counted.task_id,
            simulated.n_rounds,
            simulated.n_runs,
            simulated.share_found,
            dense_rank() over (
                partition by counted.task_id
                order by
                    simulated.n_cases < counted.n_cases,
                    abs(simulated.n_cases - counted.n_cases)
            ) as distance

        from counted
        cross join simulated
    ) as by_distance
    where distance = 1

),

-- cases may have more or fewer rounds than others, now and before
rounds as (

    select
        task_id,
        k as n_now,
        n - k as n_before,
        count(*) as n_cases

    from cases
    group by task_id, k, n - k

),

-- of the suites with no more rounds now and before (n_runs, and the baseline) the luckiest
powers_by_rounds as (

    select
        rounds.task_id,
        rounds.n_cases,
        max(
            case
                when
                    rounds.n_now >= sized.n_rounds
                    and rounds.n_before >= sized.n_rounds * (sized.n_runs + 1)
                    then sized.share_found
                else 0
            end
        ) as share_found

    from rounds
    inner join sized using (task_id)
    group by rounds.task_id, rounds.n_now, rounds.n_before, rounds.n_cases

),

-- any of the cases may be the one that breaks
powers as (

    select

        ---------- ids
        task_id,

        ---------- numerics
        {{ rounded(exact_sum('n_cases * share_found') ~ ' / sum(n_cases)') }} as share_found

    from powers_by_rounds
    group by task_id

)

select * from powers
