{#- Quantile of Student's t: from the seed up to 30 degrees of freedom, above it by the
    Cornish-Fisher series (error below 3e-8). `quantile` is t_975 or t_800. `df` is a column
    of another name (the seed has a df), or an expression of columns: no aggregate. `max` is of
    one row: an engine wants to see that there is no second one. -#}
{% macro t_quantile(df, quantile='t_975') -%}
    {%- set z = {'t_975': z_975(), 't_800': '0.8416212335729143e0'}[quantile] -%}
    case
        when {{ df }} > 30 then {{ t_series(df, z) }}
        else (
            select max(quantiles.{{ quantile }})
            from {{ ref('promptlab', 'promptlab_t_quantiles') }} as quantiles
            where quantiles.df = {{ df }}
        )
    end
{%- endmacro %}

{#- The quantile for many degrees of freedom, from that of the normal distribution. -#}
{% macro t_series(df, z) -%}
    {{ z }} + (power({{ z }}, 3) + {{ z }}) / (4e0 * {{ df }})
    + (5 * power({{ z }}, 5) + 16 * power({{ z }}, 3) + 3 * {{ z }}) / (96e0 * power({{ df }}, 2))
    + (
        3 * power({{ z }}, 7) + 19 * power({{ z }}, 5) + 17 * power({{ z }}, 3) - 15 * {{ z }}
    ) / (384e0 * power({{ df }}, 3))
    + (
        79 * power({{ z }}, 9) + 776 * power({{ z }}, 7) + 1482 * power({{ z }}, 5)
        - 1920 * power({{ z }}, 3) - 945 * {{ z }}
    ) / (92160e0 * power({{ df }}, 4))
{%- endmacro %}
