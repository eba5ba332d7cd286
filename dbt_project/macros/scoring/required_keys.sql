{#- Keys that a JSON object must have: a list of keys, or an object of keys and types. -#}

{#- Whether a document has them all. -#}
{% macro has_required_keys(document, required) -%}
    case
        when {{ json_kind(document) }} <> 'object' then false
        when {{ json_kind(required) }} = 'array' then len(list_filter(
            json_extract_string({{ required }}, '$[*]'),
            lambda k: {{ json_object_member(document, 'k') }} is null
        )) = 0
        else len(list_filter(
            json_keys({{ required }}),
            lambda k: not coalesce(
                {{ member_has_type(document, 'k', key_type('k', required)) }}, false
            )
        )) = 0
    end
{%- endmacro %}

{#- The type that a requirement gives a key, by one name; null for a name nobody knows. -#}
{% macro key_type(key, required) -%}
    case {{ json_object_member(required, key) }} ->> '$'
        when 'string' then 'text'
        when 'str' then 'text'
        when 'text' then 'text'
        when 'number' then 'number'
        when 'float' then 'number'
        when 'integer' then 'integer'
        when 'int' then 'integer'
        when 'boolean' then 'boolean'
        when 'bool' then 'boolean'
        when 'array' then 'array'
        when 'list' then 'array'
        when 'object' then 'object'
        when 'dict' then 'object'
        when 'null' then 'null'
        when 'any' then 'any'
    end
{%- endmacro %}

{#- Whether a member is there and of a type. An integer is a number without a fraction. -#}
{% macro member_has_type(document, key, type) -%}
    case {{ type }}
        when 'any' then {{ json_object_member(document, key) }} is not null
        when 'integer' then regexp_matches(
            cast({{ json_object_member(document, key) }} as string), '^-?[0-9]+$'
        )
        else {{ json_kind(json_object_member(document, key)) }} = {{ type }}
    end
{%- endmacro %}
