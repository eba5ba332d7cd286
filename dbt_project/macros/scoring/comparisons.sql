{#- Whether a number is the expected one within a tolerance, inclusive, with a slack
    of three units in the last place, the rounding of the doubles: 0.95 is 0.94 at 0.01.
    Null where a side is no number. -#}
{% macro within_tolerance(actual, expected, tolerance) -%}
    abs(({{ actual }}) - {{ expected }}) <= {{ tolerance }} + case
        when {{ tolerance }} > 0
            then 6.661338147750939e-16
                * greatest(abs({{ actual }}), abs({{ expected }}), {{ tolerance }})
        else 0
    end
{%- endmacro %}
