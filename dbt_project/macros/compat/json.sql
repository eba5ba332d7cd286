{#- JSON, engine by engine. Documents are JSON text columns; SQL null is "missing", the
    JSON null is the text `null`. -#}

{#- The value at a path that another column holds; SQL null where there is none. -#}
{% macro json_value_at(document, path) -%}
    {{ return(adapter.dispatch('json_value_at')(document, path)) }}
{%- endmacro %}

{% macro default__json_value_at(document, path) -%}
    json_extract({{ document }}, {{ path }})
{%- endmacro %}

{#- The member of an object by its key, whatever characters the key has. Null where the
    document is no object. A JSON Pointer, since `$.""` and `$."*"` are no paths. -#}
{% macro json_member(document, key) -%}
    {{ return(adapter.dispatch('json_member')(document, key)) }}
{%- endmacro %}

{% macro default__json_member(document, key) -%}
    case
        when {{ json_kind(document) }} = 'object'
            then json_extract(
                {{ document }}, '/' || replace(replace({{ key }}, '~', '~0'), '/', '~1')
            )
    end
{%- endmacro %}

{#- The same where the document is known to be an object. -#}
{% macro json_object_member(document, key) -%}
    {{ return(adapter.dispatch('json_object_member')(document, key)) }}
{%- endmacro %}

{% macro default__json_object_member(document, key) -%}
    json_extract({{ document }}, '/' || replace(replace({{ key }}, '~', '~0'), '/', '~1'))
{%- endmacro %}

{#- A member by a key that we choose ourselves, as text; null for null and for missing. -#}
{% macro json_text(document, key) -%}
    {{ return(adapter.dispatch('json_text')(document, key)) }}
{%- endmacro %}

{% macro default__json_text(document, key) -%}
    json_extract_string({{ document }}, '$."{{ key }}"')
{%- endmacro %}

{#- A member by a key that we choose ourselves; null for missing, also for a JSON null. -#}
{% macro json_field(document, key) -%}
    {{ return(adapter.dispatch('json_field')(document, key)) }}
{%- endmacro %}

{% macro default__json_field(document, key) -%}
    {{ null_if_json_null("json_extract(" ~ document ~ ", '$.\"" ~ key ~ "\"')") }}
{%- endmacro %}

{#- The JSON null as SQL null. -#}
{% macro null_if_json_null(document) -%}
    case when cast({{ document }} as varchar) <> 'null' then {{ document }} end
{%- endmacro %}

{#- object, array, text, boolean, null or number, by the first character: `json_type`
    would parse the document again, and it calls large integers doubles. Stored JSON
    never starts with white space. -#}
{% macro json_kind(document) -%}
    case left(cast({{ document }} as varchar), 1)
        when '{' then 'object'
        when '[' then 'array'
        when '"' then 'text'
        when 't' then 'boolean'
        when 'f' then 'boolean'
        when 'n' then 'null'
        when '' then null
        else case when {{ document }} is not null then 'number' end
    end
{%- endmacro %}

{#- The value as people read it: a text itself, anything else its compact JSON; null for
    a JSON null. Expects a value that came out of an extraction (compact already). -#}
{% macro json_as_text(document) -%}
    {{ return(adapter.dispatch('json_as_text')(document)) }}
{%- endmacro %}

{% macro default__json_as_text(document) -%}
    case left(cast({{ document }} as varchar), 1)
        when '"' then {{ document }} ->> '$'
        when 'n' then null
        else cast({{ document }} as varchar)
    end
{%- endmacro %}
