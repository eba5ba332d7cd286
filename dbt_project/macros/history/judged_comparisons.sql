{#- A whole query: every comparison with its tests, its verdict and the reason for it. What is
    paired are the cases of tasks or the questions of memory runs; the rest is the same.

    `sums` has the columns of paired_sums (null where there is no pair), level (`overall` or
    a part of it), has_passes (whether a pass means something) and reason_without_pairs.
    Its columns in `keys` and `kept` go through. The comparisons of a `family` (columns) but
    for the overall one are a family of tests: their p-values are adjusted. -#}
{% macro judged_comparisons(sums, keys, kept, family) -%}
{%- set family = family | join(', ') ~ ", level = 'overall'" -%}
with

measured as (

    select
        sums.*,
        policy.max_p,
        policy.min_pairs,
        policy.margin,
        sums.n_pairs - 1 as df,
        -- null if the differences of the pairs are all equal: t is undefined
        nullif(sums.sd, 0) / sqrt(cast(sums.n_pairs as double)) as standard_error

    from {{ sums }} as sums
    cross join {{ ref('comparison_policy') }} as policy

),

quantiles as (

    select
        *,
        {{ t_quantile('measured.df') }} as t_975,
        {{ t_quantile('measured.df', 't_800') }} as t_800,
        mean_delta / standard_error as t

    from measured

),

tested as (

    select
        *,
        t_975 * standard_error as half_width,
        (t_975 + t_800) * standard_error as smallest_difference,
        case
            when n_pairs > 0 then {{ paired_p_value('t', 'df', 'n_better + n_worse') }}
        end as p_value

    from quantiles

),

ranked as (

    select
        *,
        {{ bh_rank('p_value', family) }} as p_rank,
        count(p_value) over (partition by {{ family }}) as n_tests

    from tested

),

adjusted as (

    select
        *,
        case
            when level <> 'overall'
                then {{ bh_adjusted('p_value', 'p_rank', 'n_tests', family) }}
        end as p_adjusted

    from ranked

),

decided as (

    select
        *,
        coalesce(p_adjusted, p_value) as deciding_p,
        case
            when n_pairs = 0 then 'not_comparable'
            when n_pairs >= min_pairs and deciding_p <= max_p
                then case when mean_delta > 0 then 'improved' else 'regressed' end
            when n_pairs < min_pairs then 'inconclusive'
            when n_better + n_worse = 0 then 'no_reliable_change'
            when mean_delta - half_width >= -margin and mean_delta + half_width <= margin
                then 'no_reliable_change'
            else 'inconclusive'
        end as verdict,
        -- greatest and least would step over a null
        case
            when half_width is not null
                then {{ rounded('greatest(-1.0, mean_delta - half_width)') }}
        end as low,
        case
            when half_width is not null
                then {{ rounded('least(1.0, mean_delta + half_width)') }}
        end as high

    from adjusted

)

select

    ---------- ids
    {{ keys | join(',\n    ') }},

    ---------- strings
    {{ kept | join(',\n    ') }},
    level,
    verdict,
    case
        when verdict = 'not_comparable' then reason_without_pairs
        when verdict = 'inconclusive' and n_pairs < min_pairs then 'too_few_pairs'
        when verdict = 'inconclusive' and half_width is null then 'no_spread'
        when verdict = 'inconclusive' then 'interval_too_wide'
    end as reason,

    ---------- numerics
    n_pairs,
    n_better,
    n_worse,
    n_same,
    case when has_passes then n_judged end as n_judged,
    case when has_passes then n_lost end as n_lost,
    case when has_passes then n_gained end as n_gained,
    {{ rounded('baseline_mean') }} as baseline_score,
    {{ rounded('candidate_mean') }} as candidate_score,
    {{ rounded('mean_delta') }} as delta,
    {{ rounded('sd') }} as sd,
    -- an interval of width 0 after rounding is dropped
    case when low < high then low end as ci_low,
    case when low < high then high end as ci_high,
    p_value,
    p_adjusted,
    deciding_p,
    case
        when has_passes and n_judged > 0 then {{ mcnemar_p_value('n_lost', 'n_gained') }}
    end as mcnemar_p,
    {{ rounded('smallest_difference') }} as smallest_detectable,
    margin

from decided
{%- endmacro %}
