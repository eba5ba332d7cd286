{#- Lists, engine by engine; they live inside models only, marts hold JSON text. -#}

{#- The keys of a JSON object in their order. -#}
{% macro json_object_keys(document) -%}
    {{ return(adapter.dispatch('json_object_keys')(document)) }}
{%- endmacro %}

{% macro default__json_object_keys(document) -%}
    json_keys({{ document }})
{%- endmacro %}

{% macro spark__json_object_keys(document) -%}
    json_object_keys({{ document }})
{%- endmacro %}

{#- The elements of a JSON list of texts. -#}
{% macro json_text_elements(document) -%}
    {{ return(adapter.dispatch('json_text_elements')(document)) }}
{%- endmacro %}

{% macro default__json_text_elements(document) -%}
    json_extract_string({{ document }}, '$[*]')
{%- endmacro %}

{% macro spark__json_text_elements(document) -%}
    transform(
        {{ spark__json_elements(document) }},
        text_element -> {{ spark__json_as_text('text_element') }}
    )
{%- endmacro %}

{#- Whether a list holds every element of another. -#}
{% macro contains_all(list, wanted) -%}
    {{ return(adapter.dispatch('contains_all')(list, wanted)) }}
{%- endmacro %}

{% macro default__contains_all(list, wanted) -%}
    list_has_all({{ list }}, {{ wanted }})
{%- endmacro %}

{% macro spark__contains_all(list, wanted) -%}
    array_size(array_except({{ wanted }}, {{ list }})) = 0
{%- endmacro %}

{#- How many elements of a list another one lacks. -#}
{% macro count_missing_from(list, allowed) -%}
    {{ return(adapter.dispatch('count_missing_from')(list, allowed)) }}
{%- endmacro %}

{% macro default__count_missing_from(list, allowed) -%}
    len(list_filter({{ list }}, lambda k: not list_contains({{ allowed }}, k)))
{%- endmacro %}

{% macro spark__count_missing_from(list, allowed) -%}
    array_size(filter({{ list }}, k -> not array_contains({{ allowed }}, k)))
{%- endmacro %}

{#- First element, and the last, of those that pass a test of text `k`. -#}
{% macro first_where(list, condition) -%}
    {{ return(adapter.dispatch('first_where')(list, condition)) }}
{%- endmacro %}

{% macro default__first_where(list, condition) -%}
    list_extract(list_filter({{ list }}, lambda k: {{ condition }}), 1)
{%- endmacro %}

{% macro spark__first_where(list, condition) -%}
    get(filter({{ list }}, k -> {{ condition }}), 0)
{%- endmacro %}

{% macro last_where(list, condition) -%}
    {{ return(adapter.dispatch('last_where')(list, condition)) }}
{%- endmacro %}

{% macro default__last_where(list, condition) -%}
    list_extract(list_filter({{ list }}, lambda k: {{ condition }}), -1)
{%- endmacro %}

{% macro spark__last_where(list, condition) -%}
    get(reverse(filter({{ list }}, k -> {{ condition }})), 0)
{%- endmacro %}

{#- The keys of a JSON object that may be matched: not null, not starting with `_`. -#}
{% macro non_null_keys(document) -%}
    {{ return(adapter.dispatch('non_null_keys')(document)) }}
{%- endmacro %}

{% macro default__non_null_keys(document) -%}
    list_filter(
        json_keys({{ document }}),
        lambda k: not starts_with(k, '_')
            and cast({{ json_member(document, 'k') }} as string) <> 'null'
    )
{%- endmacro %}

{% macro spark__non_null_keys(document) -%}
    filter(
        json_object_keys({{ document }}),
        k -> left(k, 1) <> '_' and {{ json_object_member(document, 'k') }} <> 'null'
    )
{%- endmacro %}

{#- The keys of a JSON object; an empty list for any other value. -#}
{% macro json_object_keys_or_none(document) -%}
    case
        when {{ json_kind(document) }} = 'object' then {{ json_object_keys(document) }}
        else {{ text_list() }}
    end
{%- endmacro %}

{#- A list of texts that we write ourselves. -#}
{% macro text_list(texts=[]) -%}
    {{ return(adapter.dispatch('text_list')(texts)) }}
{%- endmacro %}

{% macro default__text_list(texts) -%}
    [{% for text in texts %}'{{ text }}'{{ ', ' if not loop.last }}{% endfor %}]
{%- endmacro %}

{% macro spark__text_list(texts) -%}
    cast(
        array({% for text in texts %}'{{ text }}'{{ ', ' if not loop.last }}{% endfor %})
        as array<string>
    )
{%- endmacro %}

{#- How many elements of a list pass a test of text `k`. -#}
{% macro count_where(list, condition) -%}
    {{ return(adapter.dispatch('count_where')(list, condition)) }}
{%- endmacro %}

{% macro default__count_where(list, condition) -%}
    len(list_filter({{ list }}, lambda k: {{ condition }}))
{%- endmacro %}

{% macro spark__count_where(list, condition) -%}
    array_size(filter({{ list }}, k -> {{ condition }}))
{%- endmacro %}

{#- A list of one element. -#}
{% macro one_element_list(value) -%}
    {{ return(adapter.dispatch('one_element_list')(value)) }}
{%- endmacro %}

{% macro default__one_element_list(value) -%}
    [{{ value }}]
{%- endmacro %}

{% macro spark__one_element_list(value) -%}
    array({{ value }})
{%- endmacro %}
