with

sums as (select * from {{ ref('promptlab', 'int_cluster_sums') }}),

-- of each cluster only what a run has more than the worst one
raised as (

    select
        task_id,
        treatment,
        cluster_id,
        place,
        pass_rates - min(pass_rates) over (partition by task_id, treatment, cluster_id) as size

    from sums

),

highest as (

    select
        task_id,
        treatment,
        max(size) as size

    from raised
    group by task_id, treatment, cluster_id

),

totals as (

    select
        task_id,
        treatment,
        count(*) as n_clusters,
        {{ exact_sum('size') }} as total

    from highest
    group by task_id, treatment

),

sizes as (

    select distinct
        task_id,
        treatment,
        size

    from raised

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

-- A common multiple of the denominators makes every size a whole number, so that equal sums
-- are equal.
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

-- Where there is none so small, sizes are rounded. Sums that are nearer than five standard
-- deviations of what rounding does to their difference are equal.
scales as (

    select
        totals.task_id,
        totals.treatment,
        coalesce(smallest.multiple, 4095 / totals.total) as scale,
        case
            when smallest.multiple is null
                then cast(ceil(2 * sqrt(totals.n_clusters)) as bigint)
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
        raised.cluster_id,

        ---------- strings
        scales.treatment,

        ---------- numerics
        raised.place,
        cast(round(scales.scale * raised.size) as bigint) as points,
        scales.tolerance

    from raised
    inner join scales using (task_id, treatment)

)

select * from points
