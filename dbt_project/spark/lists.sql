{#- Lists. -#}

{% macro spark__list_of(values) -%}
    {%- if values -%}
        array({{ values | join(', ') }})
    {%- else -%}
        cast(array() as array<string>)
    {%- endif -%}
{%- endmacro %}

{% macro spark__list_size(list) -%}
    array_size({{ list }})
{%- endmacro %}

{% macro spark__list_element(list, place) -%}
    try_element_at({{ list }}, {{ place }})
{%- endmacro %}

{% macro spark__list_as_text(list) -%}
    array_join({{ list }}, ' ')
{%- endmacro %}

{% macro spark__elements_where(list, condition) -%}
    filter({{ list }}, k -> {{ condition }})
{%- endmacro %}

{% macro spark__n_different(list) -%}
    array_size(array_distinct({{ list }}))
{%- endmacro %}

{% macro spark__n_found(elements, list) -%}
    array_size(array_intersect({{ elements }}, {{ list }}))
{%- endmacro %}

{#- The list sorted once, then the places where its runs of equal elements start; the outer
    lambdas only give these a name. -#}
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

{% macro spark__unnested(list) -%}
    explode({{ list }})
{%- endmacro %}

{% macro spark__unnested_with_places(elements, document, element_name, place_name) -%}
    posexplode({{ elements }}) as ({{ place_name }}, {{ element_name }})
{%- endmacro %}

{#- A sequence that would be empty runs backwards here. -#}
{% macro spark__whole_numbers(first, end) -%}
    case
        when {{ first }} < {{ end }}
            then sequence(cast({{ first }} as bigint), cast({{ end }} as bigint) - 1)
        else cast(array() as array<bigint>)
    end
{%- endmacro %}
