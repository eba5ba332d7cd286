with

strata as (select * from {{ ref('promptlab', 'int_test_strata') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

kinds as (

    select distinct
        n,
        s,
        k

    from strata

),

outcomes as (

    select
        n,
        s,
        k,
        greatest(0, s - (n - k)) as fewest,
        least(k, s) as most,
        {{ unnested(whole_numbers('greatest(0, s - (n - k))', 'least(k, s) + 1')) }} as v

    from kinds

),

-- v passes among k of n rounds of which s passed, if all rounds are alike
chances as (

    select
        *,
        exp(
            {{ ln_factorial('k') }} - {{ ln_factorial('v') }} - {{ ln_factorial('k - v') }}
            + {{ ln_factorial('n - k') }} - {{ ln_factorial('s - v') }}
            - {{ ln_factorial('n - k - s + v') }}
            - {{ ln_factorial('n') }} + {{ ln_factorial('s') }} + {{ ln_factorial('n - s') }}
        ) as p

    from outcomes

),

-- how much likelier v passes are where the case broke
weighed as (

    select
        chances.*,
        policy.share_broken,
        power(policy.odds_broken, chances.v - chances.fewest)
        / sum(chances.p * power(policy.odds_broken, chances.v - chances.fewest)) over (
            partition by chances.n, chances.s, chances.k
        ) as ratio

    from chances
    cross join policy

),

scored as (

    select
        n,
        s,
        k,
        'few' as statistic,
        v,
        p,
        cast(round(64 * ln(1 - share_broken + share_broken * ratio)) as bigint) as points

    from weighed

    union all

    select
        n,
        s,
        k,
        'broad' as statistic,
        v,
        p,
        cast(most - v as bigint) as points

    from weighed

),

evidence as (

    select
        *,
        sum(p * points) over of_kind as mean_points,
        sum(p * points * points) over of_kind as mean_square,
        min(points) over of_kind as least_points,
        max(points) over of_kind as most_points,
        sum(p) over (partition by n, s, k, statistic order by v) as p_at_most

    from scored
    window of_kind as (partition by n, s, k, statistic)

)

select * from evidence
