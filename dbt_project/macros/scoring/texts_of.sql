{#- A text or a list of texts as a list; null for anything else. -#}
{% macro texts_of(document) -%}
    case {{ json_kind(document) }}
        when 'text' then {{ list_of([json_as_text(document)]) }}
        when 'array' then {{ json_text_elements(document) }}
    end
{%- endmacro %}
