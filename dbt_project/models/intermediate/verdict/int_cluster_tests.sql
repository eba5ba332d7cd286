with

sums as (select * from {{ ref('int_cluster_sums') }}),
points as (select * from {{ ref('int_cluster_points') }}),

counted as (

    select
        task_id,
        treatment,
        count(*) as n_clusters

    from sums
    group by task_id, treatment

),

-- a total is as low as the sum of the falls is high
observed as (

    select
        task_id,
        treatment,
        greatest(0, sum(case when points < 0 then -points else 0 end) - max(tolerance)) as falls,
        sum(abs(points)) + 1 as n_sums

    from points
    group by task_id, treatment

),

different as (

    select
        clusters.task_id,
        clusters.treatment,
        abs(clusters.points) as points,
        observed.n_sums,
        count(*) as n_alike

    from points as clusters
    inner join observed using (task_id, treatment)
    where clusters.points <> 0
    group by clusters.task_id, clusters.treatment, abs(clusters.points), observed.n_sums

),

angles as (

    select
        *,
        {{ unnested(whole_numbers('1', 'cast(floor(n_sums / 2) as bigint) + 1')) }} as j

    from different

),

-- if nothing changed each difference could as well have the other sign: the Fourier transform
-- of the sum is a product of cosines
waves as (

    select
        task_id,
        treatment,
        j,
        exp(sum(n_alike * ln(abs(cos(pi() * j * points / n_sums)) + 1e-300))) as size,
        sum(
            case when cos(pi() * j * points / n_sums) < 0 then n_alike else 0 end
        ) % 2 as is_negative

    from angles
    group by task_id, treatment, j

),

tests as (

    select
        observed.task_id,
        observed.treatment,
        (observed.n_sums - observed.falls + coalesce(sum(
            case when 2 * waves.j = observed.n_sums then 1 else 2 end
            * case when waves.is_negative = 1 then -waves.size else waves.size end
            * sin(pi() * waves.j * (observed.n_sums - observed.falls) / observed.n_sums)
            / sin(pi() * waves.j / observed.n_sums)
            * cos(pi() * waves.j * observed.falls / observed.n_sums)
        ), 0)) / observed.n_sums as p

    from observed
    left join waves using (task_id, treatment)
    group by observed.task_id, observed.treatment, observed.falls, observed.n_sums

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
