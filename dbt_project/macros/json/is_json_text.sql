{#- Whether a text is JSON. DuckDB lets a trailing comma, NaN and Infinity pass; a look at
    what stands outside the strings does not. -#}
{% macro is_json_text(text) -%}
    (
        json_valid({{ text }})
        and not regexp_matches(
            regexp_replace({{ text }}, '"(?:[^"\\]|\\.)*"', '""', 'g'),
            ',\s*[}\]]|(?i)nan|inf'
        )
    )
{%- endmacro %}
