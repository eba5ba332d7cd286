{#- Text, engine by engine. -#}

{#- What stands behind the last slash of a path. -#}
{% macro last_path_part(path) -%}
    {{ return(adapter.dispatch('last_path_part')(path)) }}
{%- endmacro %}

{% macro default__last_path_part(path) -%}
    list_extract(string_split({{ path }}, '/'), -1)
{%- endmacro %}

{#- A text without a suffix that it may end with. -#}
{% macro without_suffix(text, suffix) -%}
    case
        when right({{ text }}, {{ suffix | length }}) = '{{ suffix }}'
            then left({{ text }}, length({{ text }}) - {{ suffix | length }})
        else {{ text }}
    end
{%- endmacro %}

{#- Whether a text has a character beyond ASCII: more bytes than characters. -#}
{% macro is_ascii(text) -%}
    {{ return(adapter.dispatch('is_ascii')(text)) }}
{%- endmacro %}

{% macro default__is_ascii(text) -%}
    strlen({{ text }}) = length({{ text }})
{%- endmacro %}
