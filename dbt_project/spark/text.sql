{#- Text, and patterns of our own. -#}

{% macro spark__joined(text, separator, order_by, distinct) -%}
    case
        when count({{ text }}) > 0 then array_join(
            {%- if distinct %}
            array_sort(collect_set({{ text }})),
            {%- else %}
            {{ spark__ordered_list(text, order_by) }},
            {%- endif %}
            {{ separator }}
        )
    end
{%- endmacro %}

{#- Java would make a final Σ a ς, and two characters of İ. -#}
{% macro spark__lowered(text) -%}
    lower(translate({{ text }}, 'Σİ', 'σi'))
{%- endmacro %}

{#- Half of the characters, a quarter and so on, as long as they are the same. -#}
{% macro spark__common_prefix_length(left_text, right_text) -%}
    aggregate(
        sequence(31, 0, -1),
        cast(case when {{ left_text }} is not null and {{ right_text }} is not null then 0 end as bigint),
        (n, power) -> case
            when n + shiftleft(1L, power) <= least(length({{ left_text }}), length({{ right_text }}))
                and left({{ left_text }}, cast(n + shiftleft(1L, power) as int))
                = left({{ right_text }}, cast(n + shiftleft(1L, power) as int))
                then n + shiftleft(1L, power)
            else n
        end
    )
{%- endmacro %}

{% macro spark__matches_pattern(text, pattern) -%}
    {{ text }} rlike {{ pattern }}
{%- endmacro %}

{% macro spark__pattern_pieces(text, pattern) -%}
    regexp_extract_all({{ text }}, {{ spark__java_scripts(pattern) }}, 0)
{%- endmacro %}

{% macro spark__pieces_between_blanks(text, _between, piece) -%}
    {{ spark__pattern_pieces(text, piece) }}
{%- endmacro %}

{#- In Java `$` stands before a final line break too. -#}
{% macro spark__without_pattern(text, pattern) -%}
    regexp_replace({{ text }}, {{ spark__java_scripts(pattern) | replace("$'", "\\z'") }}, '')
{%- endmacro %}

{#- A pattern of our own with Java's names of scripts. -#}
{% macro spark__java_scripts(pattern) -%}
    {%- set java = namespace(pattern=pattern) -%}
    {%- for script in ['Han', 'Hiragana', 'Katakana'] -%}
        {%- set java.pattern = java.pattern | replace('\\p{' ~ script ~ '}', '\\p{Is' ~ script ~ '}') -%}
    {%- endfor -%}
    {{ return(java.pattern) }}
{%- endmacro %}
