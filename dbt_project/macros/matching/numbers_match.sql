{#- Whether the actual number is the expected one within the tolerance, inclusive. Two
    integers compare exactly, of any size; otherwise as doubles, and only where there is
    a tolerance with a slack for rounding, so that 0.3 and 0.4 at 0.1 match. A number beyond
    a double is near nothing. -#}
{% macro numbers_match() -%}
    coalesce(
        actual_text = operand
        or case
            when {{ is_integer_text('actual_text') }} and {{ is_integer_text('operand') }}
                then {{ integers_within('actual_text', 'operand', 'tolerance') }}
            when abs(try_cast(actual_text as double)) <= 1.7976931348623157e308
                then {{ within_tolerance(
                    'try_cast(actual_text as double)', 'expected_number', 'tolerance'
                ) }}
        end,
        false
    )
{%- endmacro %}

{#- A number's text without point and exponent. -#}
{% macro is_integer_text(text) -%}
    not (contains({{ text }}, '.') or contains({{ text }}, 'e') or contains({{ text }}, 'E'))
{%- endmacro %}
