{#- Documents are JSON columns; SQL null is "missing", the JSON null is the text `null`. -#}

{#- object, array, text, boolean, null or number, by the first character: `json_type`
    would parse the document again, and it calls large integers doubles. Stored JSON
    never starts with white space. -#}
{% macro json_kind(document) -%}
    case left(cast({{ document }} as string), 1)
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

{#- The member of an object by its key, whatever characters the key has; null where the
    document is no object. -#}
{% macro json_member(document, key) -%}
    case
        when {{ json_kind(document) }} = 'object' then {{ json_object_member(document, key) }}
    end
{%- endmacro %}

{#- The member by its key of a document that is known to be an object. A JSON Pointer, since
    `$.""` and `$."*"` are no paths. -#}
{% macro json_object_member(document, key) -%}
    json_extract({{ document }}, '/' || replace(replace({{ key }}, '~', '~0'), '/', '~1'))
{%- endmacro %}

{#- The value as people read it: a text itself, anything else its compact JSON; null for
    a JSON null. Expects a value that came out of an extraction (compact already). -#}
{% macro json_as_text(document) -%}
    case left(cast({{ document }} as string), 1)
        when '"' then {{ document }} ->> '$'
        when 'n' then null
        else cast({{ document }} as string)
    end
{%- endmacro %}
