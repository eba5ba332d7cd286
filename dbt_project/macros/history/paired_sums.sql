{#- What every comparison is made of: counts and sums over pairs of scores, the columns of a
    select that groups by subject. A row of the input is something that either side has:
    baseline_score, candidate_score and delta (null where it is not compared), `millionths`
    of the delta, is_shared, is_comparable, and status_change (null where it is not judged). -#}
{% macro paired_sums() -%}
    count(*) filter (where is_shared) as n_shared,
        count(*) filter (where is_comparable) as n_comparable,
        count(delta) as n_pairs,
        count(*) filter (where delta > 0) as n_better,
        count(*) filter (where delta < 0) as n_worse,
        count(*) filter (where delta = 0) as n_same,
        {{ exact_mean('case when delta is not null then baseline_score end') }} as baseline_mean,
        {{ exact_mean('case when delta is not null then candidate_score end') }}
            as candidate_mean,
        {{ exact_mean('delta') }} as mean_delta,
        {{ exact_sample_sd('millionths') }} as sd,
        count(status_change) as n_judged,
        count(*) filter (where status_change = 'newly_failing') as n_lost,
        count(*) filter (where status_change = 'newly_fixed') as n_gained
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

{#- Aggregate: whether every score of either side is 0 or 1. -#}
{% macro all_or_nothing() -%}
    bool_and(baseline_score in (0, 1) and candidate_score in (0, 1))
{%- endmacro %}

{#- What became of a score that is a pass at 1 and a failure at 0. -#}
{% macro change_of_all_or_nothing(delta) -%}
    case {{ delta }}
        when -1 then 'newly_failing'
        when 1 then 'newly_fixed'
        else 'as before'
    end
{%- endmacro %}
