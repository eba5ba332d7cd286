{#- A text of at most so many characters, with an ellipsis where it was cut. -#}
{% macro shortened(text, at_most=80) -%}
    case
        when length({{ text }}) > {{ at_most }} then left({{ text }}, {{ at_most - 1 }}) || '…'
        else {{ text }}
    end
{%- endmacro %}
