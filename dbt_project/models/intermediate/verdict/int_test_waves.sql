with

strata as (select * from {{ ref('promptlab', 'int_test_strata') }}),
evidence as (select * from {{ ref('promptlab', 'int_test_evidence') }}),
sums as (select * from {{ ref('promptlab', 'int_test_sums') }}),

counted as (

    select
        sums.task_id,
        sums.treatment,
        sums.statistic,
        sums.window_length,
        strata.n,
        strata.s,
        strata.k,
        cast(sum(strata.n_cases) as double) as n_cases

    from strata
    inner join sums using (task_id, treatment)
    group by
        sums.task_id,
        sums.treatment,
        sums.statistic,
        sums.window_length,
        strata.n,
        strata.s,
        strata.k

),

kinds as (

    select distinct
        statistic,
        window_length,
        n,
        s,
        k

    from counted

),

-- half of the angles: the others mirror them
angles as (

    select
        *,
        {{ unnested(whole_numbers('0', 'cast(window_length / 2 as bigint) + 1')) }} as j

    from kinds

),

of_kinds as (

    select
        angles.statistic,
        angles.window_length,
        angles.n,
        angles.s,
        angles.k,
        angles.j,
        sum(
            evidence.p * cos(2e0 * pi() * angles.j * evidence.points / angles.window_length)
        ) as wave_cos,
        sum(
            evidence.p * sin(2e0 * pi() * angles.j * evidence.points / angles.window_length)
        ) as wave_sin

    from angles
    inner join evidence using (statistic, n, s, k)
    group by
        angles.statistic,
        angles.window_length,
        angles.n,
        angles.s,
        angles.k,
        angles.j

),

-- cases are independent: their waves multiply
multiplied as (

    select
        counted.task_id,
        counted.treatment,
        counted.statistic,
        of_kinds.j,
        sum(
            counted.n_cases / 2e0 * ln(
                of_kinds.wave_cos * of_kinds.wave_cos
                + of_kinds.wave_sin * of_kinds.wave_sin
                + 1e-300
            )
        ) as ln_size,
        sum(counted.n_cases * atan2(of_kinds.wave_sin, of_kinds.wave_cos)) as angle

    from counted
    inner join of_kinds using (statistic, window_length, n, s, k)
    group by counted.task_id, counted.treatment, counted.statistic, of_kinds.j

),

sized as (

    select
        multiplied.*,
        sums.n_tests,
        sums.window_length,
        sums.window_start,
        case when multiplied.j in (0, sums.window_length / 2) then 1 else 2 end
        * exp(multiplied.ln_size) / sums.window_length as size

    from multiplied
    inner join sums using (task_id, treatment, statistic)
    -- smaller ones change no p-value
    where multiplied.ln_size > -41

),

placed as (

    select
        *,
        angle - 2e0 * pi() * j * window_start / window_length as angle_at_start,
        case when j > 0 then size / 2e0 / tan(pi() * j / window_length) end as size_of_tail

    from sized

),

waves as (

    select
        *,
        size / 2e0 * cos(angle_at_start) + size_of_tail * sin(angle_at_start) as tail_at_start

    from placed

)

select * from waves
