{#- A member that is a JSON number, as a double; null for any other type. -#}
{% macro json_number(document, key) -%}
    {%- set path = "'$." ~ key ~ "'" -%}
    case
        when {{ json_kind('nullif(json_extract(' ~ document ~ ', ' ~ path ~ "), 'null')") }} = 'number'
            then {{ finite_number('json_extract_string(' ~ document ~ ', ' ~ path ~ ')') }}
    end
{%- endmacro %}

{#- The double that a text is; null beyond the doubles (the engine says infinity). -#}
{% macro finite_number(text) -%}
    case
        when abs(try_cast({{ text }} as double)) <= 1e300 then try_cast({{ text }} as double)
    end
{%- endmacro %}
