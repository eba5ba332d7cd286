{#- Numbers. -#}

{#- A double with a fixed count of decimals. Whether it is a tie is decided after the multiplication. -#}
{% macro rounded(number, digits=6) -%}
    round({{ number }}, {{ digits }})
{%- endmacro %}

{#- Whether two integers, given as texts of any length, are no further apart than a
    tolerance. `abs` of a bignum would be a double, so the larger one goes first. -#}
{% macro integers_within(actual, expected, tolerance) -%}
    case
        when {{ tolerance }} = 0
            then try_cast({{ actual }} as bignum) = try_cast({{ expected }} as bignum)
        when try_cast({{ actual }} as bignum) > try_cast({{ expected }} as bignum)
            then try_cast({{ actual }} as bignum) - try_cast({{ expected }} as bignum)
                <= cast(floor({{ tolerance }}) as bignum)
        else try_cast({{ expected }} as bignum) - try_cast({{ actual }} as bignum)
            <= cast(floor({{ tolerance }}) as bignum)
    end
{%- endmacro %}

{#- Aggregate: the sum of a column of doubles, added up from the smallest to the largest, so
    that the order of the rows does not show in its last bit; null over nothing. For numbers
    of any size; shares, scores and weights have exact_sum. -#}
{% macro sum_in_order(column) -%}
    sum({{ column }} order by {{ column }})
{%- endmacro %}

{#- Sum of an expression of `k` over the whole numbers from one to another, in steps; 0
    over none. The last one is excluded. -#}
{% macro sum_of_series(expression, first, end, step=1) -%}
    coalesce(
        list_sum(list_transform(
            range({{ first }}, {{ end }}, {{ step }}), lambda k: {{ expression }}
        )),
        0
    )
{%- endmacro %}

{#- ln(n!), for counts too large for n! itself. -#}
{% macro ln_factorial(n) -%}
    lgamma(({{ n }}) + 1)
{%- endmacro %}
