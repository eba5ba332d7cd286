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
