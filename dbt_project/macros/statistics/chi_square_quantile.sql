{#- The chi-square that is exceeded in one case of ten, right to half a percent from 4
    degrees of freedom on (Wilson and Hilferty). -#}
{% macro chi_square_900(df) -%}
    {{ df }} * power(1 - 2 / (9e0 * {{ df }}) + 1.2815515655446004e0 * sqrt(2 / (9e0 * {{ df }})), 3)
{%- endmacro %}
