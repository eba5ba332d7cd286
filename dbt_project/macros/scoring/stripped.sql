{#- A text without the white space around it, Unicode's included. -#}
{% macro stripped(text) -%}
    {{ without_pattern(
        stripped_left(text), '[' ~ unicode_spaces() ~ ']+$'
    ) }}
{%- endmacro %}

{#- A text without the white space before it. -#}
{% macro stripped_left(text) -%}
    {{ without_pattern(text, '^[' ~ unicode_spaces() ~ ']+') }}
{%- endmacro %}
