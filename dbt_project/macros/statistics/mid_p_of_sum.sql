{#- Aggregate over the waves of a sum (int_test_waves): the mid-p-value of `points`, which is the
    chance of more, and half of that of `points` itself. A finite Fourier series, added up in
    closed form from `points` to the end of the window. -#}
{% macro mid_p_of_sum(points) -%}
    sum(case
        when waves.j = 0
            then waves.size * (waves.window_length - 0.5e0 + waves.window_start - {{ points }})
        else
            waves.size_of_tail
            * sin(waves.angle - 2e0 * pi() * waves.j * {{ points }} / waves.window_length)
            - waves.tail_at_start
    end)
{%- endmacro %}

{#- Condition: a p-value above the alarm's level. Equal to the level is an alarm, so the last
    digits of the sum, which differ between engines, do not decide. -#}
{% macro is_quiet(p, tests) -%}
    {{ p }} > policy.max_p / {{ tests }}.n_tests + 1e-9
{%- endmacro %}

{#- A query: of places of windows, every step of them beside every wave, the last one whose
    mid-p-value is no alarm. -#}
{% macro last_quiet_place(places) -%}
    {%- set place = '(waves.first_place + waves.part * waves.step)' -%}
    select
        quiet.task_id,
        quiet.statistic,
        max(quiet.place) as place

    from (
        select
            waves.task_id,
            waves.statistic,
            waves.n_tests,
            {{ place }} as place,
            {{ mid_p_of_sum(place) }} as p

        from {{ places }} as waves
        group by waves.task_id, waves.statistic, waves.n_tests, {{ place }}
    ) as quiet
    cross join policy
    where {{ is_quiet('quiet.p', 'quiet') }}
    group by quiet.task_id, quiet.statistic
{%- endmacro %}
