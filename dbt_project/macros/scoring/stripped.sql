{#- A text without the white space around it, Unicode's included. -#}
{% macro stripped(text) -%}
    {{ without_pattern(
        without_pattern(text, '^[' ~ unicode_spaces() ~ ']+'), '[' ~ unicode_spaces() ~ ']+$'
    ) }}
{%- endmacro %}
