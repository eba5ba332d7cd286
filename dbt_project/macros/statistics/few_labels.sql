{#- From numbers of passing and of failing labels: true where there are too few of a kind for the
    rates of a judge. With 15 the 95 % interval of a rate of 0.9 still is 0.3 wide. -#}
{% macro has_few_labels(n_pass, n_fail) -%}
    least({{ n_pass }}, {{ n_fail }}) < 15
{%- endmacro %}
