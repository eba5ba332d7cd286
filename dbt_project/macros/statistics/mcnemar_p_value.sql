{#- McNemar's test, exact and two-sided: how likely so uneven a split of the pairs that
    changed is by a fair coin; 1 where none changed. `n_lost` and `n_gained` are columns. -#}
{% macro mcnemar_p_value(n_lost, n_gained) -%}
    {%- set n = n_lost ~ ' + ' ~ n_gained -%}
    least(1e0, 2e0 * {{ sum_of_series(
        'exp(lgamma((' ~ n ~ ') + 1) - lgamma((k) + 1) - lgamma((' ~ n ~ ' - k) + 1)'
        ~ ' - (' ~ n ~ ') * ln(2e0))',
        '0', 'least(' ~ n_lost ~ ', ' ~ n_gained ~ ') + 1'
    ) }})
{%- endmacro %}
