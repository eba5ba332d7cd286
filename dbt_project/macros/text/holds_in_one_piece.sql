{#- Whether one list of tokens stands in another, in order and without a gap. A list
    without tokens stands only in another one without. -#}
{% macro holds_in_one_piece(tokens, wanted) -%}
    case
        when {{ list_size(wanted) }} = 0 then {{ list_size(tokens) }} = 0
        else contains(
            ' ' || {{ list_as_text(tokens) }} || ' ', ' ' || {{ list_as_text(wanted) }} || ' '
        )
    end
{%- endmacro %}
