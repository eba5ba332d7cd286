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
        multiples.task_id,
        multiples.treatment,
        multiples.multiple

    from multiples
    inner join sizes using (task_id, treatment)
    group by multiples.task_id, multiples.treatment, multiples.multiple
    having
        max(abs(multiples.multiple * sizes.size - round(multiples.multiple * sizes.size))) < 1e-6

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

points as (

    select

        ---------- ids
        scales.task_id,
        sums.cluster_id,

        ---------- strings
        scales.treatment,

        ---------- numerics
        cast(round(scales.scale * sums.difference) as bigint) as points,
        scales.tolerance

    from sums
    inner join scales using (task_id, treatment)

)

select * from points
