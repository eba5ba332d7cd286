with

tests as (select * from {{ ref('int_exact_tests') }}),
shifts as (select * from {{ ref('int_run_shifts') }}),

-- p as a z, narrower by as much as whole runs differ; both sides of a re-check ran together
scaled as (

    select
        tests.*,
        coalesce(
            tests.treatment <> 'recheck' and shifts.is_shifting and shifts.spread > 1, false
        ) as is_calibrated,
        shifts.df,
        {{ z_exceeded('greatest(1e-12, least(1 - 1e-12, tests.p))') }}
        / greatest(1e0, shifts.spread) as t

    from tests
    left join shifts using (task_id)

),

p_values as (

    select

        ---------- ids
        task_id,

        ---------- strings
        treatment,

        ---------- numerics
        {{ rounded('p_few', 9) }} as p_few,
        {{ rounded('p_broad', 9) }} as p_broad,
        {{ rounded('p', 9) }} as p_uncalibrated,
        case
            when not is_calibrated or t <= 0 then {{ rounded('p', 9) }}
            else {{ rounded('greatest(p, ' ~ t_p_value('t', 'df') ~ ' / 2)', 9) }}
        end as p,

        ---------- booleans
        is_calibrated

    from scaled

)

select * from p_values
