{#- Lists to rows, in a select list; a list that is null or empty gives no row. -#}

{#- A row per element of a list. -#}
{% macro unnested(list) -%}
    {{ return(adapter.dispatch('unnested')(list)) }}
{%- endmacro %}

{% macro default__unnested(list) -%}
    unnest({{ list }})
{%- endmacro %}

{% macro spark__unnested(list) -%}
    explode({{ list }})
{%- endmacro %}

{#- Two columns, the elements of a JSON list, as `elements` makes them, and their places
    from 0: unnested_with_places(json_elements('steps'), 'steps', 'step', 'step_no'). -#}
{% macro unnested_with_places(elements, document, element_name, place_name) -%}
    {{ return(adapter.dispatch('unnested_with_places')(
        elements, document, element_name, place_name
    )) }}
{%- endmacro %}

{% macro default__unnested_with_places(elements, document, element_name, place_name) -%}
    unnest({{ elements }}) as {{ element_name }},
        unnest(range(cast(json_array_length({{ document }}) as bigint))) as {{ place_name }}
{%- endmacro %}

{% macro spark__unnested_with_places(elements, document, element_name, place_name) -%}
    posexplode({{ elements }}) as ({{ place_name }}, {{ element_name }})
{%- endmacro %}
