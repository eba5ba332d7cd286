with

sums as (select * from {{ ref('promptlab', 'int_cluster_sums') }}),
points as (select * from {{ ref('promptlab', 'int_cluster_points') }}),

counted as (

    select
        task_id,
        treatment,
        count(distinct cluster_id) as n_clusters

    from sums
    group by task_id, treatment

),

-- if nothing changed, any of its runs could as well be the newest one of a cluster
shares as (

    select
        task_id,
        treatment,
        cluster_id,
        points,
        count(*) / cast(
            sum(count(*)) over (partition by task_id, treatment, cluster_id) as double
        ) as share

    from points
    group by task_id, treatment, cluster_id, points

),

highest as (

    select
        task_id,
        treatment,
        cluster_id,
        max(points) as points

    from shares
    group by task_id, treatment, cluster_id

),

windows as (

    select
        task_id,
        treatment,
        sum(points) + 1 as n_sums

    from highest
    group by task_id, treatment

),

observed as (

    select
        points.task_id,
        points.treatment,
        windows.n_sums,
        least(sum(points.points) + max(points.tolerance), windows.n_sums - 1) as total

    from points
    inner join windows using (task_id, treatment)
    where points.place = 0
    group by points.task_id, points.treatment, windows.n_sums

),

angles as (

    select
        *,
        {{ unnested(whole_numbers('1', 'cast(floor(n_sums / 2) as bigint) + 1')) }} as j

    from windows

),

-- the Fourier transform of a sum is the product of those of its clusters
of_clusters as (

    select
        angles.task_id,
        angles.treatment,
        angles.j,
        shares.cluster_id,
        sum(shares.share * cos(2e0 * pi() * angles.j * shares.points / angles.n_sums)) as wave_cos,
        sum(shares.share * sin(2e0 * pi() * angles.j * shares.points / angles.n_sums)) as wave_sin

    from angles
    inner join shares using (task_id, treatment)
    group by angles.task_id, angles.treatment, angles.j, shares.cluster_id

),

waves as (

    select
        task_id,
        treatment,
        j,
        exp(sum(ln(wave_cos * wave_cos + wave_sin * wave_sin + 1e-300) / 2e0)) as size,
        sum(atan2(wave_sin, wave_cos)) as angle

    from of_clusters
    group by task_id, treatment, j

),

tests as (

    select
        observed.task_id,
        observed.treatment,
        (observed.total + 1 + coalesce(sum(
            case when 2 * waves.j = observed.n_sums then 1 else 2 end
            * waves.size
            * cos(waves.angle - pi() * waves.j * observed.total / observed.n_sums)
            * sin(pi() * waves.j * (observed.total + 1) / observed.n_sums)
            / sin(pi() * waves.j / observed.n_sums)
        ), 0)) / observed.n_sums as p

    from observed
    left join waves using (task_id, treatment)
    group by observed.task_id, observed.treatment, observed.total, observed.n_sums

),

cluster_tests as (

    select

        ---------- ids
        counted.task_id,

        ---------- strings
        counted.treatment,

        ---------- numerics
        counted.n_clusters,
        case
            when tests.p is null then 1e0
            else {{ rounded('least(1e0, greatest(0e0, tests.p))', 9) }}
        end as p

    from counted
    left join tests using (task_id, treatment)

)

select * from cluster_tests
