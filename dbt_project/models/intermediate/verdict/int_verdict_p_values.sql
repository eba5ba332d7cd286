with

tests as (select * from {{ ref('promptlab', 'int_exact_tests') }}),
shifts as (select * from {{ ref('promptlab', 'int_run_shifts') }}),
clusters as (select * from {{ ref('promptlab', 'int_cluster_tests') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

-- p as a z, narrower by as much as whole runs differ; both sides of a re-check ran together.
-- Further digits are noise of the transform
scaled as (

    select
        tests.*,
        coalesce(
            tests.treatment <> 'recheck' and shifts.is_shifting and shifts.spread > 1, false
        ) as is_calibrated,
        shifts.df,
        {{ z_exceeded('greatest(1e-9, least(1 - 1e-9, ' ~ rounded('tests.p', 9) ~ '))') }}
        / greatest(1e0, shifts.spread) as t

    from tests
    left join shifts using (task_id)

),

widened as (

    select
        *,
        case
            when not is_calibrated or t <= 0 then {{ rounded('p', 9) }}
            else {{ rounded('greatest(p, ' ~ t_p_value('t', 'df') ~ ' / 2)', 9) }}
        end as p_widened

    from scaled

),

-- where cases are not independent only their clusters decide
p_values as (

    select

        ---------- ids
        widened.task_id,

        ---------- strings
        widened.treatment,

        ---------- numerics
        {{ rounded('widened.p_few', 9) }} as p_few,
        {{ rounded('widened.p_broad', 9) }} as p_broad,
        {{ rounded('widened.p', 9) }} as p_uncalibrated,
        case
            when clusters.n_clusters >= policy.min_clusters then clusters.p
            else widened.p_widened
        end as p,

        ---------- booleans
        widened.is_calibrated
        and coalesce(clusters.n_clusters < policy.min_clusters, true) as is_calibrated

    from widened
    cross join policy
    left join clusters using (task_id, treatment)

)

select * from p_values
