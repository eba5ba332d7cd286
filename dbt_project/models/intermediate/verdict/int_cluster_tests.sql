with

sums as (select * from {{ ref('int_cluster_sums') }}),

totals as (

    select
        task_id,
        treatment,
        count(*) as n_clusters,
        {{ exact_sum('abs(difference)') }} as total

    from sums
    group by task_id, treatment

),

-- Whole numbers whose sums have at most 7801 places; where 60ths fit equal
-- sums of few rounds stay equal.
scales as (

    select
        *,
        case
            when total <= 65 then floor(65 / total) * 60
            else 3900 / total
        end as scale

    from totals
    where total > 0

),

scaled as (

    select
        scales.task_id,
        scales.treatment,
        scales.n_clusters,
        cast(round(scales.scale * sums.difference) as bigint) as points

    from sums
    inner join scales using (task_id, treatment)

),

observed as (

    select
        task_id,
        treatment,
        n_clusters,
        sum(points) as points,
        sum(abs(points)) as most_points

    from scaled
    group by task_id, treatment, n_clusters

),

different as (

    select
        task_id,
        treatment,
        abs(points) as points,
        count(*) as n_alike

    from scaled
    where points <> 0
    group by task_id, treatment, abs(points)

),

angles as (

    select
        *,
        {{ unnested(whole_numbers('1', '4097')) }} as j

    from different

),

-- if nothing changed each difference could as well have the other sign: the Fourier transform
-- of the sum is a product of cosines
waves as (

    select
        task_id,
        treatment,
        j,
        exp(sum(n_alike * ln(abs(cos(2 * pi() * j * points / 8192)) + 1e-300))) as size,
        sum(
            case when cos(2 * pi() * j * points / 8192) < 0 then n_alike else 0 end
        ) % 2 as is_negative

    from angles
    group by task_id, treatment, j

),

tests as (

    select
        observed.task_id,
        observed.treatment,
        observed.n_clusters,
        (observed.points + observed.most_points + 1) / 8192e0 + coalesce(sum(
            case when waves.j = 4096 then 1 else 2 end
            * case when waves.is_negative = 1 then -waves.size else waves.size end
            * sin(pi() * waves.j * (observed.points + observed.most_points + 1) / 8192)
            / sin(pi() * waves.j / 8192)
            * cos(pi() * waves.j * (observed.points - observed.most_points) / 8192)
        ) / 8192, 0) as p

    from observed
    left join waves using (task_id, treatment)
    group by
        observed.task_id,
        observed.treatment,
        observed.n_clusters,
        observed.points,
        observed.most_points

),

cluster_tests as (

    select

        ---------- ids
        totals.task_id,

        ---------- strings
        totals.treatment,

        ---------- numerics
        totals.n_clusters,
        case
            when tests.p is null then 1e0
            else {{ rounded('least(1e0, greatest(0e0, tests.p))', 9) }}
        end as p

    from totals
    left join tests using (task_id, treatment)

)

select * from cluster_tests
