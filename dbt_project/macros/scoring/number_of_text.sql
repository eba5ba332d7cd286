{#- The number that a whole text is; null for anything else (units, several numbers, the
    engine's own extras such as 1_000 and inf). Expects a stripped text. -#}
{% macro number_of_text(text) -%}
    case
        when regexp_matches({{ text }}, '^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$')
            then try_cast({{ text }} as double)
    end
{%- endmacro %}
