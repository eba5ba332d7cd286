{#- Numbers. -#}

{#- Spark's own would round the shortest decimal that reads as the number. -#}
{% macro spark__rounded(number, digits) -%}
    round(({{ number }}) * 1e{{ digits }}) / 1e{{ digits }}
{%- endmacro %}

{#- Up to 18 digits as bigints; longer ones in groups of 14 digits, whose differences are
    added up from the left: exact as long as it matters. -#}
{% macro spark__integers_within(actual, expected, tolerance) -%}
    case
        when length({{ actual }}) < 19 and length({{ expected }}) < 19
            then abs(try_cast({{ actual }} as bigint) - try_cast({{ expected }} as bigint))
                <= floor({{ tolerance }})
        else transform(
            array(struct(
                ceil(greatest(length({{ actual }}), length({{ expected }})) / 14e0) as n_groups,
                case when left({{ actual }}, 1) = '-' then -1 else 1 end as actual_sign,
                case when left({{ expected }}, 1) = '-' then -1 else 1 end as expected_sign
            )),
            n -> abs(aggregate(
                sequence(0, cast(n.n_groups as int) - 1),
                0e0,
                (difference, group_no) -> difference * 1e14 + cast(
                    n.actual_sign * cast(substr(
                        lpad(replace({{ actual }}, '-', ''), cast(n.n_groups as int) * 14, '0'),
                        group_no * 14 + 1, 14
                    ) as bigint)
                    - n.expected_sign * cast(substr(
                        lpad(replace({{ expected }}, '-', ''), cast(n.n_groups as int) * 14, '0'),
                        group_no * 14 + 1, 14
                    ) as bigint) as double
                )
            )) <= floor({{ tolerance }})
        )[0]
    end
{%- endmacro %}

{% macro spark__sum_in_order(column) -%}
    case
        when count({{ column }}) > 0
            then aggregate(array_sort(collect_list({{ column }})), 0e0, (total, k) -> total + k)
    end
{%- endmacro %}

{#- A sequence that would be empty runs backwards here. -#}
{% macro spark__sum_of_series(expression, first, end, step) -%}
    case
        when {{ first }} < {{ end }} then aggregate(
            sequence(
                cast({{ first }} as bigint), cast({{ end }} as bigint) - 1,
                cast({{ step }} as bigint)
            ),
            0e0,
            (total, k) -> total + {{ expression }}
        )
        else 0e0
    end
{%- endmacro %}

{#- Whole numbers up to 20 by their factorials, others by Stirling's series: it is right to
    1e-14 from 8.5 upwards, so it is taken 8 further up. -#}
{% macro spark__ln_factorial(n) -%}
    transform(
        array(({{ n }}) + 9e0),
        w -> case
            when w <= 29 and w = floor(w) then ln(factorial(cast(w as int) - 9))
            else (w - 0.5e0) * ln(w) - w + 0.9189385332046727e0
            + (1 / 12e0 - (1 / 360e0 - (1 / 1260e0 - (1 / 1680e0 - (1 / 1188e0 - (
                691 / 360360e0 - 1 / 156e0 / (w * w)
            ) / (w * w)) / (w * w)) / (w * w)) / (w * w)) / (w * w)) / w
            - ln(
                (w - 1) * (w - 2) * (w - 3) * (w - 4) * (w - 5) * (w - 6) * (w - 7) * (w - 8)
            )
        end
    )[0]
{%- endmacro %}
