{#- A text without the white space around it, Unicode's included. -#}
{% macro stripped(text) -%}
    {{ stripped_right(stripped_left(text)) }}
{%- endmacro %}

{#- A text without the white space before it. -#}
{% macro stripped_left(text) -%}
    regexp_replace({{ text }}, '^[{{ unicode_spaces() }}]+', '', 'g')
{%- endmacro %}

{#- A text without the white space behind it. -#}
{% macro stripped_right(text) -%}
    regexp_replace({{ text }}, '[{{ unicode_spaces() }}]+$', '', 'g')
{%- endmacro %}
