{#- The JSON value that a document is: a text that holds JSON is read, without the white
    space around it. -#}
{% macro read_json(document) -%}
    case
        when {{ json_kind(document) }} = 'text' and {{ is_json_text(json_as_text(document)) }}
            then cast({{ stripped(json_as_text(document)) }} as json)
        else {{ document }}
    end
{%- endmacro %}
