{#- What every comparison is made of: counts and exact sums over pairs of scores, the columns
    of a select that groups them. A row of the input is something that either side has:
    baseline_score, candidate_score and delta (null where it is not compared), `millionths`
    of the delta, is_shared, is_comparable, and status_change (null where it is not judged). -#}
{% macro paired_parts() -%}
    count(*) filter (where is_shared) as n_shared,
        count(*) filter (where is_comparable) as n_comparable,
        count(delta) as n_pairs,
        count(*) filter (where delta > 0) as n_better,
        count(*) filter (where delta < 0) as n_worse,
        count(*) filter (where delta = 0) as n_same,
        count(status_change) as n_judged,
        count(*) filter (where status_change = 'newly_failing') as n_lost,
        count(*) filter (where status_change = 'newly_fixed') as n_gained,
        {{ decimal_sum('case when delta is not null then baseline_score end') }}
            as baseline_total,
        {{ decimal_sum('case when delta is not null then candidate_score end') }}
            as candidate_total,
        {{ decimal_sum('delta') }} as delta_total,
        sum({{ wide('millionths') }}) as millionths_total,
        sum({{ wide('millionths') }} * {{ wide('millionths') }}) as squares_total,
        -- whether every score of either side is 0 or 1
        bool_and(baseline_score in (0, 1) and candidate_score in (0, 1)) as is_all_or_nothing
{%- endmacro %}

{#- What a comparison needs of them. The sample standard deviation, null below two pairs, is
    taken from whole millionths, so that equal scores spread by exactly 0 and the rows' order
    does not matter. -#}
{% macro paired_sums() -%}
    n_shared,
        n_comparable,
        n_pairs,
        n_better,
        n_worse,
        n_same,
        cast(baseline_total as double) / nullif(n_pairs, 0) as baseline_mean,
        cast(candidate_total as double) / nullif(n_pairs, 0) as candidate_mean,
        cast(delta_total as double) / nullif(n_pairs, 0) as mean_delta,
        sqrt(
            cast(n_pairs * squares_total - millionths_total * millionths_total as double)
            / nullif(n_pairs * (n_pairs - 1e0), 0)
        ) / 1e6 as sd,
        n_judged,
        n_lost,
        n_gained
{%- endmacro %}

{#- The same columns of a relation; a comparison without sums has no pairs. -#}
{% macro paired_columns(sums) -%}
    {%- for name in ['n_pairs', 'n_better', 'n_worse', 'n_same'] -%}
        coalesce({{ sums }}.{{ name }}, 0) as {{ name }},
        {% endfor -%}
    {%- for name in [
        'baseline_mean', 'candidate_mean', 'mean_delta', 'sd', 'n_judged', 'n_lost', 'n_gained',
    ] -%}
        {{ sums }}.{{ name }}{{ ',\n        ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}

{#- What became of a score that is a pass at 1 and a failure at 0. -#}
{% macro change_of_all_or_nothing(delta) -%}
    case {{ delta }}
        when -1 then 'newly_failing'
        when 1 then 'newly_fixed'
        else 'as before'
    end
{%- endmacro %}
