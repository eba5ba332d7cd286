{#- Whether a pattern of a column is found in a text; null where the engine cannot run
    it. `ascii_pattern` is the shorter form for texts that are all ASCII: the engine
    compiles a column's pattern for every row, and its Unicode ranges are dear. -#}
{% macro regex_found(text, pattern, ascii_pattern) -%}
    try(
        regexp_matches(
            {{ text }},
            case
                when bit_length({{ text }}) = 8 * length({{ text }}) then {{ ascii_pattern }}
                else {{ pattern }}
            end
        )
    )
{%- endmacro %}
