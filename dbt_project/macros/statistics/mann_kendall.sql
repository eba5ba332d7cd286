{#- How often orders of the runs have so many falls among their pairs: the generating
    function is a q-multinomial coefficient, [n]! over [t]! of each group of equal runs, taken
    at the 59th roots of 1 as 11 runs have 55 pairs. Columns: the power of each factor [m],
    and the product of the factors at half an angle. -#}
{% macro powers_of_factors(n_runs, n_alike) -%}
    {%- for m in range(2, 12) %}
        case when {{ n_runs }} >= {{ m }} then 1 else 0 end
        - count(case when {{ n_alike }} >= {{ m }} then 1 end) as power_{{ m }}
        {%- if not loop.last %},{% endif %}
    {%- endfor %}
{%- endmacro %}

{% macro product_of_factors(half_angle) -%}
    1e0
    {%- for m in range(2, 12) %}
        * power(sin({{ m }} * {{ half_angle }}) / ({{ m }} * sin({{ half_angle }})), power_{{ m }})
    {%- endfor %}
{%- endmacro %}
