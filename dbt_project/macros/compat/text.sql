{#- Text, and patterns in it. -#}

{#- Aggregate: the texts of a column joined in an order, null where there is none. With
    `distinct` each is taken once, in the order of the texts themselves. -#}
{% macro joined(text, separator, order_by, distinct=false) -%}
    string_agg({{ 'distinct ' if distinct }}{{ text }}, {{ separator }} order by {{ order_by }})
{%- endmacro %}

{#- A text in lower case, each character by itself. -#}
{% macro lowered(text) -%}
    lower({{ text }})
{%- endmacro %}

{#- Whether a text is all ASCII: as many bytes as characters. -#}
{% macro is_ascii(text) -%}
    bit_length({{ text }}) = 8 * length({{ text }})
{%- endmacro %}

{#- How many characters two texts have in common from their start. -#}
{% macro common_prefix_length(left_text, right_text) -%}
    len(list_filter(
        range(1, least(length({{ left_text }}), length({{ right_text }})) + 1),
        lambda n: left({{ left_text }}, n) = left({{ right_text }}, n)
    ))
{%- endmacro %}

{#- Whether a text holds a match of a pattern of our own, which every engine reads alike. -#}
{% macro matches_pattern(text, pattern) -%}
    regexp_matches({{ text }}, {{ pattern }})
{%- endmacro %}

{#- Every piece of a text that a pattern finds, in order; a null text gives null. The
    pattern is given bare, without quotes. -#}
{% macro pattern_pieces(text, pattern) -%}
    regexp_extract_all({{ text }}, '{{ pattern }}')
{%- endmacro %}

{#- The pieces of a text between blanks and some other characters, none of them empty; a
    null text gives null. The characters are the inside of a pattern's class. Splitting takes a third of the time that finding piece by piece takes. -#}
{% macro pieces_between_blanks(text, other_characters) -%}
    list_filter(
        string_split(regexp_replace({{ text }}, '[{{ other_characters }}]', ' ', 'g'), ' '),
        lambda k: k <> ''
    )
{%- endmacro %}

{#- A text without what a pattern finds, everywhere. -#}
{% macro without_pattern(text, pattern) -%}
    regexp_replace({{ text }}, '{{ pattern }}', '', 'g')
{%- endmacro %}

{#- Whether a pattern of a column is found in a text; null where the engine cannot run
    it. `ascii_pattern` is the shorter form for texts that are all ASCII: the engine
    compiles a column's pattern for every row, and its Unicode ranges are dear. -#}
{% macro regex_found(text, pattern, ascii_pattern) -%}
    try(
        regexp_matches(
            {{ text }},
            case when {{ is_ascii(text) }} then {{ ascii_pattern }} else {{ pattern }} end
        )
    )
{%- endmacro %}
