{#- A JSON value as text; null for null, "", false and 0, which all mean "no error". -#}
{% macro truthy_text(document) -%}
    case
        when cast({{ document }} as string) not in ('""', 'false', '0', '0.0')
            then left({{ json_as_text(document) }}, 500)
    end
{%- endmacro %}
