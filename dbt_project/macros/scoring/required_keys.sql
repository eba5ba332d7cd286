{#- Keys that a JSON object must have: a list of keys, or an object of keys and types. -#}

{#- The types, and how they may be called. -#}
{% macro key_types() -%}
    {{ return({
        'text': ['string', 'str', 'text'],
        'number': ['number', 'float'],
        'integer': ['integer', 'int'],
        'boolean': ['boolean', 'bool'],
        'array': ['array', 'list'],
        'object': ['object', 'dict'],
        'null': ['null'],
        'any': ['any'],
    }) }}
{%- endmacro %}

{#- Whether the requirement can be read; null when there is none. -#}
{% macro are_required_keys_readable(required) -%}
    case
        when {{ required }} is null then null
        when {{ json_kind(required) }} = 'array' then true
        when {{ json_kind(required) }} = 'object' then {{ count_where(
            json_object_keys(required),
            "coalesce(" ~ json_as_text(json_member(required, 'k')) ~ ", '') not in ('"
            ~ (key_types().values() | sum(start=[]) | join("', '")) ~ "')"
        ) }} = 0
        else false
    end
{%- endmacro %}

{#- Whether a document has them all. -#}
{% macro has_required_keys(document, required) -%}
    case
        when {{ json_kind(document) }} <> 'object' then false
        when {{ json_kind(required) }} = 'array' then {{ count_where(
            json_text_elements(required), json_object_member(document, 'k') ~ ' is null'
        ) }} = 0
        else {{ count_where(
            json_object_keys(required), 'not coalesce(' ~ key_has_type(document, required) ~ ', false)'
        ) }} = 0
    end
{%- endmacro %}

{#- Whether the member `k` of an object is of the type that the requirement gives it.
    One look-up of a pair `type:kind`: a `when` per type would write the documents out
    again and again, and planning such a query takes minutes. -#}
{% macro key_has_type(document, required) -%}
    {%- set pairs = [] -%}
    {%- for kind, names in key_types().items() if kind not in ('any', 'integer') -%}
        {%- for name in names %}{% do pairs.append("'" ~ name ~ ':' ~ kind ~ "'") %}{% endfor -%}
    {%- endfor -%}
    {%- set wanted = json_object_member(required, 'k') ~ " ->> '$'" -%}
    {%- set found = json_object_member(document, 'k') -%}
    case
        when {{ found }} is null then false
        when {{ wanted }} in ('{{ key_types()['any'] | join("', '") }}') then true
        when {{ wanted }} in ('{{ key_types()['integer'] | join("', '") }}')
            then regexp_full_match(cast({{ found }} as varchar), '-?[0-9]+')
        else ({{ wanted }}) || ':' || {{ json_kind(found) }} in ({{ pairs | join(', ') }})
    end
{%- endmacro %}
