{#- Why a check does not hold; null when it does. One `when` per matcher.

    Reads the columns of int_check_results: `actual` (the value found, JSON),
    `actual_kind`, `actual_text`, and of the check: matcher, operand, allowed …
    A null operand of a regex is a pattern that could not be compiled. -#}
{% macro failure_reason() -%}
    case
        when not has_output then 'missing_step'
        when actual is null then 'missing_field'
        when matcher = 'object' then case
            when actual_kind <> 'object' then 'type_mismatch'
            when
                allowed is not null
                and len(
                    list_filter(
                        json_keys(actual),
                        lambda k: not array_contains(json_extract_string(allowed, '$[*]'), k)
                    )
                ) > 0
                then 'unexpected_field'
        end
        when matcher = 'array' then case
            when actual_kind <> 'array' then 'type_mismatch'
            when json_array_length(actual) <> expected_length then 'length_mismatch'
        end
        when matcher = 'text' then case
            when actual_kind <> 'text' then 'type_mismatch'
            when actual_text <> operand then 'value_mismatch'
        end
        when matcher = 'number' then case
            when actual_kind <> 'number' then 'type_mismatch'
            when not {{ numbers_match() }} then 'value_mismatch'
        end
        when matcher = 'bool' then case
            when actual_kind <> 'boolean' then 'type_mismatch'
            when actual_text <> operand then 'value_mismatch'
        end
        when matcher = 'null' then case
            when actual_kind <> 'null' then 'type_mismatch'
        end
        when matcher = 'contains' then case
            when actual_text is null or not contains(actual_text, operand)
                then 'not_contained'
        end
        when matcher = 'regex' then case
            when operand is null then 'invalid_pattern'
            when not coalesce({{ regex_found('actual_text', 'operand', 'operand_ascii') }}, false)
                then 'no_regex_match'
        end
    end
{%- endmacro %}
