{#- A member that is a JSON number, as a double; null for any other type. -#}
{% macro json_number(document, key) -%}
    case
        when {{ json_kind(json_field(document, key)) }} = 'number'
            then {{ finite_number(json_text(document, key)) }}
    end
{%- endmacro %}

{#- The double that a text is; null beyond the doubles (the engine says infinity). -#}
{% macro finite_number(text) -%}
    case
        when abs(try_cast({{ text }} as double)) <= 1e300 then try_cast({{ text }} as double)
    end
{%- endmacro %}
