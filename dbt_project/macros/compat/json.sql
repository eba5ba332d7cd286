{#- JSON, read. Documents are JSON text columns; SQL null is "missing", the JSON null is the
    text `null`. -#}

{#- A JSON document from its text. -#}
{% macro as_json(text) -%}
    cast({{ text }} as json)
{%- endmacro %}

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

{#- The value at a path that another column holds; SQL null where there is none. -#}
{% macro json_value_at(document, path) -%}
    json_extract({{ document }}, {{ path }})
{%- endmacro %}

{#- The member of an object by its key, whatever characters the key has; null where the
    document is no object. -#}
{% macro json_member(document, key) -%}
    case
        when {{ json_kind(document) }} = 'object' then {{ json_object_member(document, key) }}
    end
{%- endmacro %}

{#- The member by its key of a document that is known to be an object. A JSON Pointer, since `$.""` and `$."*"` are no paths. -#}
{% macro json_object_member(document, key) -%}
    json_extract({{ document }}, '/' || replace(replace({{ key }}, '~', '~0'), '/', '~1'))
{%- endmacro %}

{#- A member by a key that we choose ourselves, as text; null for null and for missing. -#}
{% macro json_text(document, key) -%}
    json_extract_string({{ document }}, '$."{{ key }}"')
{%- endmacro %}

{#- A member by a key that we choose ourselves; null for missing, also for a JSON null. -#}
{% macro json_field(document, key) -%}
    {%- set member = "json_extract(" ~ document ~ ", '$.\"" ~ key ~ "\"')" -%}
    case when cast({{ member }} as string) <> 'null' then {{ member }} end
{%- endmacro %}

{#- The value as people read it: a text itself, anything else its compact JSON; null for
    a JSON null. Expects a value that came out of an extraction (compact already). -#}
{% macro json_as_text(document) -%}
    case left(cast({{ document }} as string), 1)
        when '"' then {{ json_string(document) }}
        when 'n' then null
        else cast({{ document }} as string)
    end
{%- endmacro %}

{#- A JSON text without its quotes and escapes. -#}
{% macro json_string(document) -%}
    {{ document }} ->> '$'
{%- endmacro %}

{#- The elements of a JSON list, each as JSON. -#}
{% macro json_elements(document) -%}
    json_extract({{ document }}, '$[*]')
{%- endmacro %}

{#- The elements of a JSON list of texts. -#}
{% macro json_text_elements(document) -%}
    json_extract_string({{ document }}, '$[*]')
{%- endmacro %}

{#- The keys of a JSON object in their order. -#}
{% macro json_object_keys(document) -%}
    json_keys({{ document }})
{%- endmacro %}

{#- The text of a document without the blanks outside its strings. A view of it can be read by older clients of DuckDB, which know no variant. -#}
{% macro without_blanks(document) -%}
    cast(json({{ document }}) as string)
{%- endmacro %}

{#- One and the same text for objects that differ only in the order of their keys, and
    for 1, 1.0 and 1e0. Strings are stepped over, so that a "1.0" inside one stays. Numbers are written anew
    where one may be a double. -#}
{% macro canonical_json(document) -%}
    case
        when regexp_matches(cast({{ document }} as string), '\.|[0-9]{19}|[0-9][eE]')
            then regexp_replace(
                {{ with_sorted_keys(document) }},
                '("(?:[^"\\]|\\.)*")|(\d)\.0+\b', '\1\2', 'g'
            )
        else {{ with_sorted_keys(document) }}
    end
{%- endmacro %}

{% macro with_sorted_keys(document) -%}
    cast(cast(cast(cast({{ document }} as json) as variant) as json) as string)
{%- endmacro %}

{#- Whether a text is JSON. DuckDB lets a trailing comma, NaN and Infinity pass; a look at what stands outside the
    strings does not. -#}
{% macro is_json_text(text) -%}
    (
        json_valid({{ text }})
        and not regexp_matches(
            regexp_replace({{ text }}, '"(?:[^"\\]|\\.)*"', '""', 'g'),
            ',\s*[}\]]|(?i)nan|inf'
        )
    )
{%- endmacro %}
