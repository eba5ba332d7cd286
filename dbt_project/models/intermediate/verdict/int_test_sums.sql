with

strata as (select * from {{ ref('promptlab', 'int_test_strata') }}),
evidence as (select * from {{ ref('promptlab', 'int_test_evidence') }}),

summed as (

    select
        strata.task_id,
        strata.treatment,
        evidence.statistic,
        cast(sum(strata.n_cases * evidence.points) as bigint) as observed,
        cast(round(sum(strata.n_cases * evidence.mean_points)) as bigint) as mean_points,
        sqrt(sum(
            strata.n_cases
            * (evidence.mean_square - evidence.mean_points * evidence.mean_points)
        )) as sd_points,
        cast(sum(strata.n_cases * evidence.least_points) as bigint) as least_points,
        cast(sum(strata.n_cases * evidence.most_points) as bigint) as most_points

    from strata
    inner join evidence
        on
            strata.n = evidence.n
            and strata.s = evidence.s
            and strata.k = evidence.k
            and strata.x = evidence.v
    group by strata.task_id, strata.treatment, evidence.statistic

),

-- One case, or any number of one kind with two outcomes: each sum determines the other, so that
-- both statistics are one test.
tests as (

    select
        task_id,
        treatment,
        case
            when count(distinct concat_ws(' ', n, s, k)) > 1 then 2
            when sum(n_cases) = 1 then 1
            when max(least(k, s) - greatest(0, s - (n - k))) = 1 then 1
            else 2
        end as n_tests

    from strata
    group by task_id, treatment

),

-- A sum that can take more values than the window has places is looked at from 8 standard
-- deviations below its mean on; the rest is less than 1e-13.
sized as (

    select
        *,
        case
            when most_points - least_points < 64 then 64
            when most_points - least_points < 512 then 512
            when most_points - least_points < 4096 or sd_points <= 256 then 4096
            else 32768
        end as window_length

    from summed

),

-- of all places where a step may be, the likeliest: `few` is the logarithm of a likelihood
ranked as (

    select
        *,
        row_number() over (
            partition by task_id, statistic, treatment like 'since_%'
            order by observed_few desc, treatment asc
        ) as place

    from (
        select
            *,
            max(case when statistic = 'few' then observed end) over (
                partition by task_id, treatment
            ) as observed_few

        from sized
    ) as sums

),

placed as (

    select
        sized.*,
        tests.n_tests,
        case
            when sized.most_points - sized.least_points < sized.window_length
                then sized.least_points
            else sized.mean_points - cast(sized.window_length / 2 as bigint)
        end as window_start

    from ranked as sized
    inner join tests using (task_id, treatment)
    where sized.treatment not like 'since_%' or sized.place = 1

)

select * from placed
