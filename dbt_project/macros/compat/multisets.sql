{#- Bags of tokens, engine by engine; they live inside models only, marts hold numbers. -#}

{#- Every piece of a text that a pattern finds, in order; a null text gives null. The
    pattern is given bare, without quotes. -#}
{% macro pattern_pieces(text, pattern) -%}
    {{ return(adapter.dispatch('pattern_pieces')(text, "'" ~ pattern ~ "'")) }}
{%- endmacro %}

{% macro default__pattern_pieces(text, pattern) -%}
    regexp_extract_all({{ text }}, {{ pattern }})
{%- endmacro %}

{% macro spark__pattern_pieces(text, pattern) -%}
    regexp_extract_all({{ text }}, {{ java_pattern(pattern) }}, 0)
{%- endmacro %}

{#- Java names scripts otherwise. -#}
{% macro java_pattern(pattern) -%}
    {%- set java = namespace(pattern=pattern) -%}
    {%- for script in ['Han', 'Hiragana', 'Katakana'] -%}
        {%- set java.pattern = java.pattern | replace('\\p{' ~ script ~ '}', '\\p{Is' ~ script ~ '}') -%}
    {%- endfor -%}
    {{ return(java.pattern) }}
{%- endmacro %}

{#- A text without what a pattern finds, everywhere. -#}
{% macro without_pattern(text, pattern) -%}
    {{ return(adapter.dispatch('without_pattern')(text, "'" ~ pattern ~ "'")) }}
{%- endmacro %}

{% macro default__without_pattern(text, pattern) -%}
    regexp_replace({{ text }}, {{ pattern }}, '', 'g')
{%- endmacro %}

{#- In Java `$` stands before a final line break too. -#}
{% macro spark__without_pattern(text, pattern) -%}
    regexp_replace({{ text }}, {{ java_pattern(pattern) | replace("$'", "\\z'") }}, '')
{%- endmacro %}

{#- How many elements a list has; a null list gives null. -#}
{% macro list_size(list) -%}
    {{ return(adapter.dispatch('list_size')(list)) }}
{%- endmacro %}

{% macro default__list_size(list) -%}
    len({{ list }})
{%- endmacro %}

{% macro spark__list_size(list) -%}
    array_size({{ list }})
{%- endmacro %}

{#- Elements of a list of texts joined by one blank. -#}
{% macro list_as_text(list) -%}
    {{ return(adapter.dispatch('list_as_text')(list)) }}
{%- endmacro %}

{% macro default__list_as_text(list) -%}
    array_to_string({{ list }}, ' ')
{%- endmacro %}

{% macro spark__list_as_text(list) -%}
    array_join({{ list }}, ' ')
{%- endmacro %}

{#- How many different elements two lists share: as sets. -#}
{% macro set_overlap(left_list, right_list) -%}
    {{ return(adapter.dispatch('set_overlap')(left_list, right_list)) }}
{%- endmacro %}

{% macro default__set_overlap(left_list, right_list) -%}
    len(list_intersect({{ left_list }}, {{ right_list }}))
{%- endmacro %}

{% macro spark__set_overlap(left_list, right_list) -%}
    array_size(array_intersect({{ left_list }}, {{ right_list }}))
{%- endmacro %}

{#- How many elements two lists share, each counted as often as both have it. Where one
    list has no element twice, that is how many different ones they share; else a bag
    becomes a set by numbering its equal elements. So the work grows with the lengths,
    not with their product, and a text of a megabyte is safe. -#}
{% macro multiset_overlap(left_list, right_list) -%}
    {{ return(adapter.dispatch('multiset_overlap')(left_list, right_list)) }}
{%- endmacro %}

{% macro default__multiset_overlap(left_list, right_list) -%}
    case
        when len(list_distinct({{ right_list }})) = len({{ right_list }})
            or len(list_distinct({{ left_list }})) = len({{ left_list }})
            then len(list_intersect({{ left_list }}, {{ right_list }}))
        else len(list_intersect(
            {{ default__numbered_elements(left_list) }},
            {{ default__numbered_elements(right_list) }}
        ))
    end
{%- endmacro %}

{% macro spark__multiset_overlap(left_list, right_list) -%}
    case
        when array_size(array_distinct({{ right_list }})) = array_size({{ right_list }})
            or array_size(array_distinct({{ left_list }})) = array_size({{ left_list }})
            then array_size(array_intersect({{ left_list }}, {{ right_list }}))
        else array_size(array_intersect(
            {{ spark__numbered_elements(left_list) }},
            {{ spark__numbered_elements(right_list) }}
        ))
    end
{%- endmacro %}

{#- [a, b, a] as {a·0, a·1, b·0}, in no order. -#}
{% macro default__numbered_elements(list) -%}
    flatten(list_transform(
        map_entries(list_aggregate({{ list }}, 'histogram')),
        lambda entry: list_transform(
            range(cast(entry.value as bigint)),
            lambda n: entry.key || chr(31) || cast(n as string)
        )
    ))
{%- endmacro %}

{#- The list sorted once, then the places where its runs of equal elements start; the outer
    lambdas only give these a name. Not for an empty list. -#}
{% macro spark__numbered_elements(list) -%}
    flatten(flatten(transform(
        array(array_sort({{ list }})),
        sorted -> flatten(transform(
            array(filter(
                sequence(0, array_size(sorted) - 1),
                place -> place = 0 or get(sorted, place) <> get(sorted, place - 1)
            )),
            starts -> transform(
                starts,
                (start, run_no) -> transform(
                    sequence(
                        0, coalesce(get(starts, run_no + 1), array_size(sorted)) - start - 1
                    ),
                    n -> get(sorted, start) || chr(31) || cast(n as string)
                )
            )
        ))
    )))
{%- endmacro %}

{#- How many different elements a list has. -#}
{% macro set_size(list) -%}
    {{ return(adapter.dispatch('set_size')(list)) }}
{%- endmacro %}

{% macro default__set_size(list) -%}
    len(list_distinct({{ list }}))
{%- endmacro %}

{% macro spark__set_size(list) -%}
    array_size(array_distinct({{ list }}))
{%- endmacro %}
