with

cases as (select * from {{ ref('promptlab', 'int_drift_cases') }}),

runs as (

    select
        task_id,
        measure,
        run_number,
        max(n_runs) as n_runs,
        {{ rounded(exact_mean('value'), 9) }} as value

    from cases
    group by task_id, measure, run_number

),

pairs as (

    select
        later.task_id,
        later.measure,
        count(*) filter (where later.value > earlier.value) as n_rises,
        count(*) filter (where later.value < earlier.value) as n_falls

    from runs as later
    inner join runs as earlier using (task_id, measure)
    where later.run_number > earlier.run_number
    group by later.task_id, later.measure

),

-- runs with equal values are one group
tied as (

    select
        task_id,
        measure,
        n_runs,
        value,
        count(*) as n_alike

    from runs
    group by task_id, measure, n_runs, value

),

-- How often orders of the runs have so many falls among their pairs: the generating function is a
-- q-multinomial coefficient, [n]! over [t]! of each group of equal runs, taken at the 59th roots of
-- 1 as 11 runs have 55 pairs: the power of each factor [m], and their product at half an angle.
sizes as (

    select
        task_id,
        measure,
        {% for m in range(2, 12) %}
            case when n_runs >= {{ m }} then 1 else 0 end
            - count(case when n_alike >= {{ m }} then 1 end) as power_{{ m }},
        {% endfor %}
        n_runs

    from tied
    group by task_id, measure, n_runs

),

angles as (

    select
        sizes.*,
        pairs.n_rises,
        pairs.n_falls,
        {{ unnested(whole_numbers('1', '59')) }} as j

    from sizes
    inner join pairs using (task_id, measure)

),

sized as (

    select
        *,
        pi() * j / 59 as half_angle,
        1e0
        {% for m in range(2, 12) %}
            * power(sin({{ m }} * half_angle) / ({{ m }} * sin(half_angle)), power_{{ m }})
        {% endfor %}
            as size

    from angles

),

-- the chance of so many falls or more: the symmetric distribution, summed in closed form
summed as (

    select
        task_id,
        measure,
        n_runs,
        n_rises,
        n_falls,
        (1 + n_rises) / 59e0 + sum(
            size * sin((1 + n_rises) * half_angle) / sin(half_angle)
            * cos(n_falls * half_angle)
        ) / 59e0 as p_decline,
        (1 + n_falls) / 59e0 + sum(
            size * sin((1 + n_falls) * half_angle) / sin(half_angle)
            * cos(n_rises * half_angle)
        ) / 59e0 as p_rise

    from sized
    group by task_id, measure, n_runs, n_rises, n_falls

),

ends as (

    select
        task_id,
        measure,
        max(case when run_number = n_runs then value end) as value

    from runs
    group by task_id, measure

),

trends as (

    select

        ---------- ids
        summed.task_id,

        ---------- strings
        summed.measure,

        ---------- numerics
        summed.n_runs,
        summed.n_rises,
        summed.n_falls,
        {{ rounded('least(1e0, greatest(0e0, summed.p_decline))', 9) }} as p_decline,
        {{ rounded('least(1e0, greatest(0e0, summed.p_rise))', 9) }} as p_rise,
        ends.value

    from summed
    inner join ends using (task_id, measure)

)

select * from trends
