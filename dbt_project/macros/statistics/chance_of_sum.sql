{#- Aggregates over the waves of a sum (int_test_waves): the chance that it is `points`, and
    that it is `points` or more, up to the end of its window. -#}
{% macro chance_of_sum(points) -%}
    greatest(0e0, sum(
        waves.size * cos(waves.angle - 2e0 * pi() * waves.j * {{ points }} / waves.window_length)
    ))
{%- endmacro %}

{% macro chance_of_sum_from(points) -%}
    {%- set last = '(waves.window_start + waves.window_length - 1)' -%}
    greatest(0e0, least(1e0, sum(
        waves.size * case
            when waves.j = 0 then cast({{ last }} - {{ points }} + 1 as double)
            else
                cos(
                    waves.angle
                    - pi() * waves.j * ({{ points }} + {{ last }}) / waves.window_length
                )
                * sin(pi() * waves.j * ({{ last }} - {{ points }} + 1) / waves.window_length)
                / sin(pi() * waves.j / waves.window_length)
        end
    )))
{%- endmacro %}
