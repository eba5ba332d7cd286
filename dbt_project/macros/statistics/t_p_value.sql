{#- Two-sided p-value of Student's t for whole degrees of freedom: a finite sum (Abramowitz
    and Stegun 26.7.3 and 26.7.4 in one), right to 1e-12. `t` and `df` are columns. -#}
{% macro t_p_value(t, df) -%}
    greatest(0e0, 1e0
        - case
            when {{ df }} % 2 = 1
                then 2 / pi() * atan(abs({{ t }}) / sqrt(cast({{ df }} as double)))
            else 0e0
        end
        - abs({{ t }}) / sqrt({{ df }} + {{ t }} * {{ t }}) / sqrt(pi())
        * {{ sum_of_series(
            'exp(lgamma(((k - 1) / 2e0) + 1) - lgamma((k / 2e0) + 1)'
            ~ ' + k / 2e0 * ln(' ~ df ~ ' / (' ~ df ~ ' + ' ~ t ~ ' * ' ~ t ~ ')))',
            df ~ ' % 2', df ~ ' - 1', 2
        ) }}
    )
{%- endmacro %}
