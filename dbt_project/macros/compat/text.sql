{#- Text, engine by engine. -#}

{#- What stands behind the last slash of a path. -#}
{% macro last_path_part(path) -%}
    {{ return(adapter.dispatch('last_path_part')(path)) }}
{%- endmacro %}

{% macro default__last_path_part(path) -%}
    list_extract(string_split({{ path }}, '/'), -1)
{%- endmacro %}

{% macro spark__last_path_part(path) -%}
    substring_index({{ path }}, '/', -1)
{%- endmacro %}

{#- A text without a suffix that it may end with. -#}
{% macro without_suffix(text, suffix) -%}
    case
        when right({{ text }}, {{ suffix | length }}) = '{{ suffix }}'
            then left({{ text }}, length({{ text }}) - {{ suffix | length }})
        else {{ text }}
    end
{%- endmacro %}

{#- Whether a text has a character beyond ASCII: more bytes than characters. -#}
{% macro is_ascii(text) -%}
    {{ return(adapter.dispatch('is_ascii')(text)) }}
{%- endmacro %}

{% macro default__is_ascii(text) -%}
    strlen({{ text }}) = length({{ text }})
{%- endmacro %}

{% macro spark__is_ascii(text) -%}
    octet_length({{ text }}) = length({{ text }})
{%- endmacro %}

{#- Whether a text starts with another. -#}
{% macro begins_with(text, prefix) -%}
    {{ return(adapter.dispatch('begins_with')(text, prefix)) }}
{%- endmacro %}

{% macro default__begins_with(text, prefix) -%}
    starts_with({{ text }}, {{ prefix }})
{%- endmacro %}

{% macro spark__begins_with(text, prefix) -%}
    startswith({{ text }}, {{ prefix }})
{%- endmacro %}

{#- A text in lower case, each character by itself: Java would make a final Σ a ς, and two
    characters of İ. -#}
{% macro lowered(text) -%}
    {{ return(adapter.dispatch('lowered')(text)) }}
{%- endmacro %}

{% macro default__lowered(text) -%}
    lower({{ text }})
{%- endmacro %}

{% macro spark__lowered(text) -%}
    lower(translate({{ text }}, 'Σİ', 'σi'))
{%- endmacro %}

{#- How many characters two texts have in common from their start. -#}
{% macro common_prefix_length(left_text, right_text) -%}
    {{ return(adapter.dispatch('common_prefix_length')(left_text, right_text)) }}
{%- endmacro %}

{% macro default__common_prefix_length(left_text, right_text) -%}
    len(list_filter(
        range(1, least(length({{ left_text }}), length({{ right_text }})) + 1),
        lambda n: left({{ left_text }}, n) = left({{ right_text }}, n)
    ))
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
