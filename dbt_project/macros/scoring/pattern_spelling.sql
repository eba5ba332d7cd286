{#- How the engine is to write a pattern of a baseline's payload: as ingest spelled it, else
    as it stands; null for one that ingest found invalid. `patterns` is the baseline's, `form`
    is unicode, or ascii for texts that are all ASCII. -#}
{% macro pattern_spelling(patterns, written, form) -%}
    case
        when {{ json_object_member(patterns, written) }} is null then {{ written }}
        else {{ json_text(json_object_member(patterns, written), form) }}
    end
{%- endmacro %}
