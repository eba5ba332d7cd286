{#- McNemar's test, exact and two-sided: how likely so uneven a split of the pairs that
    changed is by a fair coin; 1 where none changed. `n_lost` and `n_gained` are columns. -#}
{% macro mcnemar_p_value(n_lost, n_gained) -%}
    least(1e0, 2e0 * {{ sum_of_series(
        'exp('
        ~ ln_factorial(n_lost ~ ' + ' ~ n_gained) ~ ' - ' ~ ln_factorial('k')
        ~ ' - ' ~ ln_factorial(n_lost ~ ' + ' ~ n_gained ~ ' - k')
        ~ ' - (' ~ n_lost ~ ' + ' ~ n_gained ~ ') * ln(2e0))',
        '0', 'least(' ~ n_lost ~ ', ' ~ n_gained ~ ') + 1'
    ) }})
{%- endmacro %}
