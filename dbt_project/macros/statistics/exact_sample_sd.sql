{#- Aggregate: the sample standard deviation of scores of 6 digits; null below two. In
    whole millionths, so that equal scores spread by exactly 0 and the rows' order does not
    matter. `millionths` is a bigint column. -#}
{% macro exact_sample_sd(millionths) -%}
    sqrt(
        cast({{ exact_squared_spread(millionths) }} as double)
        / nullif(count({{ millionths }}) * (count({{ millionths }}) - 1e0), 0)
    ) / 1e6
{%- endmacro %}

{#- A score of 6 digits in whole millionths. -#}
{% macro millionths(score) -%}
    cast(round({{ score }} * 1000000) as bigint)
{%- endmacro %}
