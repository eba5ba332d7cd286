{#- How many elements two lists share, each counted as often as both have it. Where one
    list has no element twice, that is how many of its elements the other has; else a bag
    becomes a set by numbering its equal elements. So the work grows with the lengths,
    not with their product, and a text of a megabyte is safe. -#}
{% macro multiset_overlap(left_list, right_list) -%}
    case
        when {{ n_different(right_list) }} = len({{ right_list }})
            then {{ n_found(right_list, left_list) }}
        when {{ n_different(left_list) }} = len({{ left_list }})
            then {{ n_found(left_list, right_list) }}
        else len(array_intersect(
            {{ numbered_elements(left_list) }},
            {{ numbered_elements(right_list) }}
        ))
    end
{%- endmacro %}

{#- How many different elements a list has; a null list gives null. Looking through a short
    list for each of its elements takes a third of the time that hashing them takes. -#}
{% macro n_different(list) -%}
    case
        when len({{ list }}) <= {{ short_list() }}
            then len(list_filter({{ list }}, lambda k, n: list_position({{ list }}, k) = n))
        else len(array_distinct({{ list }}))
    end
{%- endmacro %}

{#- How many elements of a list, each of them there once, stand in another list, whatever
    the length of that one. -#}
{% macro n_found(elements, list) -%}
    case
        when len({{ elements }}) <= {{ short_list() }}
            then len(list_filter({{ elements }}, lambda k: list_contains({{ list }}, k)))
        else len(array_intersect({{ elements }}, {{ list }}))
    end
{%- endmacro %}

{#- How many elements a list has at most that is looked through. -#}
{% macro short_list() -%}
    32
{%- endmacro %}

{#- The texts of a list, each with its number among its equals behind it: [a, b, a] as
    {a·0, a·1, b·0}, in no order. Not for an empty list. -#}
{% macro numbered_elements(list) -%}
    flatten(list_transform(
        map_entries(list_aggregate({{ list }}, 'histogram')),
        lambda entry: list_transform(
            range(cast(entry.value as bigint)),
            lambda n: entry.key || chr(31) || cast(n as string)
        )
    ))
{%- endmacro %}
