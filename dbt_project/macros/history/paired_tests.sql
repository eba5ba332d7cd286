{#- A whole query: the paired tests of every comparison. Interval and p-value of the mean
    difference, McNemar's test of what passed, the smallest difference that would have been
    seen. `sums` has the columns of paired_sums and those `kept`; `has_passes` is the condition
    that a pass means something for the subject. -#}
{% macro paired_tests(sums, kept, has_passes) -%}
with

sums as (

    select * from {{ sums }}

),

measured as (

    select
        *,
        n_pairs - 1 as df,
        {{ has_passes }} as has_passes,
        -- null where the pairs have no spread: then there is no t
        mean_delta / (nullif(sd, 0) / sqrt(cast(n_pairs as double))) as t,
        nullif(sd, 0) / sqrt(cast(n_pairs as double)) as standard_error

    from sums

),

quantiles as (

    select
        *,
        {{ t_quantile('measured.df') }} as t_975,
        {{ t_quantile('measured.df', 't_800') }} as t_800

    from measured

),

widened as (

    select
        *,
        t_975 * standard_error as half_width,
        (t_975 + t_800) * standard_error as smallest_detectable

    from quantiles

),

tested as (

    select

        ---------- ids
        {{ kept | join(',\n        ') }},

        ---------- numerics
        n_shared,
        n_comparable,
        n_pairs,
        n_better,
        n_worse,
        n_same,
        case when has_passes then n_judged end as n_judged,
        case when has_passes then n_lost end as n_lost,
        case when has_passes then n_gained end as n_gained,
        {{ rounded('baseline_mean') }} as baseline_score,
        {{ rounded('candidate_mean') }} as candidate_score,
        mean_delta,
        {{ rounded('mean_delta') }} as delta,
        {{ rounded('sd') }} as sd,
        half_width,
        case
            when n_pairs = 0 then null
            when t is not null then {{ t_p_value('t', 'df') }}
            when n_better + n_worse = 0 then 1
            -- all changed by the same amount: as likely as that many heads in a row, or tails
            else power(2e0, -df)
        end as p_value,
        case
            when has_passes and n_judged > 0 then {{ mcnemar_p_value('n_lost', 'n_gained') }}
        end as mcnemar_p,
        {{ rounded('smallest_detectable') }} as smallest_detectable

    from widened

)

select * from tested
{%- endmacro %}
