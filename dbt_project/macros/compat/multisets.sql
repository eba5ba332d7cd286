{#- Bags of tokens, engine by engine; they live inside models only, marts hold numbers. -#}

{#- Every piece of a text that a pattern finds, in order; a null text gives null. The
    pattern is given bare, without quotes. -#}
{% macro pattern_pieces(text, pattern) -%}
    {{ return(adapter.dispatch('pattern_pieces')(text, "'" ~ pattern ~ "'")) }}
{%- endmacro %}

{% macro default__pattern_pieces(text, pattern) -%}
    regexp_extract_all({{ text }}, {{ pattern }})
{%- endmacro %}

{#- A text without what a pattern finds, everywhere. -#}
{% macro without_pattern(text, pattern) -%}
    {{ return(adapter.dispatch('without_pattern')(text, "'" ~ pattern ~ "'")) }}
{%- endmacro %}

{% macro default__without_pattern(text, pattern) -%}
    regexp_replace({{ text }}, {{ pattern }}, '', 'g')
{%- endmacro %}

{#- How many elements a list has; a null list gives null. -#}
{% macro list_size(list) -%}
    {{ return(adapter.dispatch('list_size')(list)) }}
{%- endmacro %}

{% macro default__list_size(list) -%}
    len({{ list }})
{%- endmacro %}

{#- Elements of a list of texts joined by one blank. -#}
{% macro list_as_text(list) -%}
    {{ return(adapter.dispatch('list_as_text')(list)) }}
{%- endmacro %}

{% macro default__list_as_text(list) -%}
    array_to_string({{ list }}, ' ')
{%- endmacro %}

{#- How many different elements two lists share: as sets. -#}
{% macro set_overlap(left_list, right_list) -%}
    {{ return(adapter.dispatch('set_overlap')(left_list, right_list)) }}
{%- endmacro %}

{% macro default__set_overlap(left_list, right_list) -%}
    len(list_intersect({{ left_list }}, {{ right_list }}))
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

{#- [a, b, a] as {a·0, a·1, b·0}, in no order. -#}
{% macro default__numbered_elements(list) -%}
    flatten(list_transform(
        map_entries(list_aggregate({{ list }}, 'histogram')),
        lambda entry: list_transform(
            range(cast(entry.value as bigint)),
            lambda n: entry.key || chr(31) || cast(n as varchar)
        )
    ))
{%- endmacro %}

{#- How many different elements a list has. -#}
{% macro set_size(list) -%}
    {{ return(adapter.dispatch('set_size')(list)) }}
{%- endmacro %}

{% macro default__set_size(list) -%}
    len(list_distinct({{ list }}))
{%- endmacro %}

{#- The places of a JSON list's elements, from 0, as a list. -#}
{% macro positions_of(document) -%}
    {{ return(adapter.dispatch('positions_of')(document)) }}
{%- endmacro %}

{% macro default__positions_of(document) -%}
    range(cast(json_array_length({{ document }}) as bigint))
{%- endmacro %}
