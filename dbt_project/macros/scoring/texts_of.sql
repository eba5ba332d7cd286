{#- A text or a list of texts as a list; null for anything else. -#}
{% macro texts_of(document) -%}
    case {{ json_kind(document) }}
        when 'text' then [{{ json_as_text(document) }}]
        when 'array' then json_extract_string({{ document }}, '$[*]')
    end
{%- endmacro %}
