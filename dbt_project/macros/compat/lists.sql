{#- Lists, engine by engine; they live inside models only, marts hold JSON text. -#}

{#- The keys of a JSON object in their order. -#}
{% macro json_object_keys(document) -%}
    {{ return(adapter.dispatch('json_object_keys')(document)) }}
{%- endmacro %}

{% macro default__json_object_keys(document) -%}
    json_keys({{ document }})
{%- endmacro %}

{#- The elements of a JSON list of texts. -#}
{% macro json_text_elements(document) -%}
    {{ return(adapter.dispatch('json_text_elements')(document)) }}
{%- endmacro %}

{% macro default__json_text_elements(document) -%}
    json_extract_string({{ document }}, '$[*]')
{%- endmacro %}

{#- Whether a list holds every element of another. -#}
{% macro contains_all(list, wanted) -%}
    {{ return(adapter.dispatch('contains_all')(list, wanted)) }}
{%- endmacro %}

{% macro default__contains_all(list, wanted) -%}
    list_has_all({{ list }}, {{ wanted }})
{%- endmacro %}

{#- How many elements of a list another one lacks. -#}
{% macro count_missing_from(list, allowed) -%}
    {{ return(adapter.dispatch('count_missing_from')(list, allowed)) }}
{%- endmacro %}

{% macro default__count_missing_from(list, allowed) -%}
    len(list_filter({{ list }}, lambda k: not list_contains({{ allowed }}, k)))
{%- endmacro %}

{#- First element, and the last, of those that pass a test of text `k`. -#}
{% macro first_where(list, condition) -%}
    {{ return(adapter.dispatch('first_where')(list, condition)) }}
{%- endmacro %}

{% macro default__first_where(list, condition) -%}
    list_extract(list_filter({{ list }}, lambda k: {{ condition }}), 1)
{%- endmacro %}

{% macro last_where(list, condition) -%}
    {{ return(adapter.dispatch('last_where')(list, condition)) }}
{%- endmacro %}

{% macro default__last_where(list, condition) -%}
    list_extract(list_filter({{ list }}, lambda k: {{ condition }}), -1)
{%- endmacro %}

{#- The keys of a JSON object that may be matched: not null, not starting with `_`. -#}
{% macro non_null_keys(document) -%}
    {{ return(adapter.dispatch('non_null_keys')(document)) }}
{%- endmacro %}

{% macro default__non_null_keys(document) -%}
    list_filter(
        json_keys({{ document }}),
        lambda k: not starts_with(k, '_')
            and cast({{ json_member(document, 'k') }} as varchar) <> 'null'
    )
{%- endmacro %}

{#- The keys of a JSON object; an empty list for any other value. -#}
{% macro json_object_keys_or_none(document) -%}
    case
        when {{ json_kind(document) }} = 'object' then {{ json_object_keys(document) }}
        else []
    end
{%- endmacro %}
