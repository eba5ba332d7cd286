{#- Bound of the Wilson score interval, 95 %, of a share out of n; n may be an effective
    sample size. `side` is -1 for the lower and 1 for the upper bound. -#}
{% macro wilson_bound(share, n, side) -%}
    (
        {{ n }} * {{ share }} + power({{ z_975() }}, 2) / 2
        + {{ side }} * {{ z_975() }} * sqrt(
            {{ n }} * {{ share }} * (1 - {{ share }}) + power({{ z_975() }}, 2) / 4
        )
    ) / ({{ n }} + power({{ z_975() }}, 2))
{%- endmacro %}
