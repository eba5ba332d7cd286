{#- What may be said of a comparison: columns of its tests and of the seed
    comparison_policy. `deciding_p` is the p-value that counts, adjusted or not. -#}
{% macro comparison_verdict() -%}
    case
            when n_pairs = 0 then 'not_comparable'
            when n_pairs >= min_pairs and deciding_p <= max_p
                then case when mean_delta > 0 then 'improved' else 'regressed' end
            when n_pairs < min_pairs then 'inconclusive'
            when n_better + n_worse = 0 then 'no_reliable_change'
            when mean_delta - half_width >= -margin and mean_delta + half_width <= margin
                then 'no_reliable_change'
            else 'inconclusive'
        end
{%- endmacro %}

{#- Why nothing can be concluded from its pairs. -#}
{% macro inconclusive_reason() -%}
    case
                    when n_pairs < min_pairs then 'too_few_pairs'
                    when half_width is null then 'no_spread'
                    else 'interval_too_wide'
                end
{%- endmacro %}

{#- The ends of the interval, in two steps with a CTE between them: `low` and `high`, then
    ci_low and ci_high; an interval that rounding leaves no width is none. -#}
{% macro interval_ends() -%}
    -- greatest and least would step over a null
        case
            when half_width is not null
                then {{ rounded('greatest(-1.0, mean_delta - half_width)') }}
        end as low,
        case
            when half_width is not null
                then {{ rounded('least(1.0, mean_delta + half_width)') }}
        end as high
{%- endmacro %}

{% macro interval_with_width() -%}
    case when low < high then low end as ci_low,
        case when low < high then high end as ci_high
{%- endmacro %}
