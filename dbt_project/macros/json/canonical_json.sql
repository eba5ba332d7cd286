{#- One and the same text for objects that differ only in the order of their keys, and
    for 1, 1.0 and 1e0. Strings are stepped over, so that a "1.0" inside one stays.
    Numbers are written anew where one may be a double. -#}
{% macro canonical_json(document) -%}
    case
        when regexp_matches(cast({{ document }} as string), '\.|[0-9]{19}|[0-9][eE]')
            then regexp_replace(
                {{ with_sorted_keys(document) }},
                '("(?:[^"\\]|\\.)*")|(\d)\.0+\b', '\1\2', 'g'
            )
        else {{ with_sorted_keys(document) }}
    end
{%- endmacro %}

{% macro with_sorted_keys(document) -%}
    cast(cast(cast(cast({{ document }} as json) as variant) as json) as string)
{%- endmacro %}

{#- The text of a document without the blanks outside its strings. A view of it can be read
    by older clients of DuckDB, which know no variant. -#}
{% macro without_blanks(document) -%}
    cast(json({{ document }}) as string)
{%- endmacro %}
