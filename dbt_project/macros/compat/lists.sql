{#- Lists; they live inside models only, marts hold JSON text. -#}

{#- A list of expressions; of texts where it is empty. -#}
{% macro list_of(values) -%}
    [{{ values | join(', ') }}]
{%- endmacro %}

{#- How many elements a list has; a null list gives null. -#}
{% macro list_size(list) -%}
    len({{ list }})
{%- endmacro %}

{#- The element at a place of a list, from 1, or from the end with -1; null where there is none. -#}
{% macro list_element(list, place) -%}
    list_extract({{ list }}, {{ place }})
{%- endmacro %}

{#- Elements of a list of texts joined by one blank. -#}
{% macro list_as_text(list) -%}
    array_to_string({{ list }}, ' ')
{%- endmacro %}

{#- The elements of a list that pass a test of the element `k`. -#}
{% macro elements_where(list, condition) -%}
    list_filter({{ list }}, lambda k: {{ condition }})
{%- endmacro %}

{#- How many elements of a list pass a test of the element `k`. -#}
{% macro count_where(list, condition) -%}
    {{ list_size(elements_where(list, condition)) }}
{%- endmacro %}

{#- How many different elements a list has; a null list gives null. Looking through a short list for each of its elements takes a third of the time that
    hashing them takes. -#}
{% macro n_different(list) -%}
    case
        when len({{ list }}) <= {{ short_list() }}
            then len(list_filter({{ list }}, lambda k, n: list_position({{ list }}, k) = n))
        else len(array_distinct({{ list }}))
    end
{%- endmacro %}

{#- How many elements of a list, each of them there once, stand in another list. The same, whatever the length of the other list. -#}
{% macro n_found(elements, list) -%}
    case
        when len({{ elements }}) <= {{ short_list() }}
            then len(list_filter({{ elements }}, lambda k: list_contains({{ list }}, k)))
        else len(array_intersect({{ elements }}, {{ list }}))
    end
{%- endmacro %}

{% macro short_list() -%}
    32
{%- endmacro %}

{#- How many elements two lists share, each counted as often as both have it. Where one
    list has no element twice, that is how many of its elements the other has; else a bag
    becomes a set by numbering its equal elements. So the work grows with the lengths,
    not with their product, and a text of a megabyte is safe. -#}
{% macro multiset_overlap(left_list, right_list) -%}
    case
        when {{ n_different(right_list) }} = {{ list_size(right_list) }}
            then {{ n_found(right_list, left_list) }}
        when {{ n_different(left_list) }} = {{ list_size(left_list) }}
            then {{ n_found(left_list, right_list) }}
        else {{ list_size(
            'array_intersect('
            ~ numbered_elements(left_list) ~ ', ' ~ numbered_elements(right_list) ~ ')'
        ) }}
    end
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

{#- A row per element of a list. -#}
{% macro unnested(list) -%}
    unnest({{ list }})
{%- endmacro %}

{#- Two columns, the elements of a JSON list, as `elements` makes them, and their places
    from 0: unnested_with_places(json_elements('steps'), 'steps', 'step', 'step_no'). -#}
{% macro unnested_with_places(elements, document, element_name, place_name) -%}
    unnest({{ elements }}) as {{ element_name }},
        unnest(range(cast(json_array_length({{ document }}) as bigint))) as {{ place_name }}
{%- endmacro %}

{#- The whole numbers from one to another as a list, the last one excluded. -#}
{% macro whole_numbers(first, end) -%}
    range({{ first }}, {{ end }})
{%- endmacro %}
