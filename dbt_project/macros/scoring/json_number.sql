{#- A member that is a JSON number, as a double; null for any other type: of JSON, only the text
    of a number is a double. The member is read once where it is missing. -#}
{% macro json_number(document, key) -%}
    {{ finite_number('cast(json_extract(' ~ document ~ ", '$." ~ key ~ "') as string)") }}
{%- endmacro %}

{#- The double that a text is; null beyond the doubles (the engine says infinity). -#}
{% macro finite_number(text) -%}
    case
        when abs(try_cast({{ text }} as double)) <= 1e300 then try_cast({{ text }} as double)
    end
{%- endmacro %}
