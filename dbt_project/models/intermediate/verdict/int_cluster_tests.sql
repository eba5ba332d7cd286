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

sizes as (

    select distinct
        task_id,
        treatment,
        abs(difference) as size

    from sums

),

multiples as (

    select
        task_id,
        treatment,
        {{ unnested(whole_numbers(
            '1', 'cast(least(4000, floor(16383 / total)) as bigint) + 1'
        )) }} as multiple

    from totals
    where total > 0

),

-- A common multiple of the denominators makes every difference a whole number, so that equal
-- sums are equal.
whole as (

    select
        task_id,
        treatment,
        multiple

    from multiples
    inner join sizes using (task_id, treatment)
    group by task_id, treatment, multiple
    having max(abs(multiple * size - round(multiple * size))) < 1e-6

),

smallest as (

    select
        task_id,
        treatment,
        min(multiple) as multiple

    from whole
    group by task_id, treatment

),

-- Where there is none so small, differences are rounded. Sums that are nearer than five standard
-- deviations of what rounding does to them, the root of the number of clusters, are equal.
scales as (

    select
        totals.task_id,
        totals.treatment,
        coalesce(smallest.multiple, 16383 / totals.total) as scale,
        case
            when smallest.multiple is null then cast(ceil(sqrt(totals.n_clusters)) as bigint)
            else 0
        end as tolerance

    from totals
    left join smallest using (task_id, treatment)
    where totals.total > 0

),

scaled as (

    select
        scales.task_id,
        scales.treatment,
        scales.tolerance,
        cast(round(scales.scale * sums.difference) as bigint) as points

    from sums
    inner join scales using (task_id, treatment)

),

-- a total is as low as the sum of the falls is high
observed as (

    select
        task_id,
        treatment,
        greatest(0, sum(case when points < 0 then -points else 0 end) - max(tolerance)) as falls,
        sum(abs(points)) + 1 as n_sums

    from scaled
    group by task_id, treatment

),

different as (

    select
        scaled.task_id,
        scaled.treatment,
        abs(scaled.points) as points,
        observed.n_sums,
        count(*) as n_alike

    from scaled
    inner join observed using (task_id, treatment)
    where scaled.points <> 0
    group by scaled.task_id, scaled.treatment, abs(scaled.points), observed.n_sums

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
