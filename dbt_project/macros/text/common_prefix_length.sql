{#- How many characters two texts have in common from their start. -#}
{% macro common_prefix_length(left_text, right_text) -%}
    len(list_filter(
        range(1, least(length({{ left_text }}), length({{ right_text }})) + 1),
        lambda n: left({{ left_text }}, n) = left({{ right_text }}, n)
    ))
{%- endmacro %}
