{#- A path that the engine gives out (`fullkey` of json_nodes) as one that it can read: the
    empty key and `*` cannot be written in its paths, so there the JSON Pointer stands. -#}
{% macro readable_path(fullkey) -%}
    {{ return(adapter.dispatch('readable_path')(fullkey)) }}
{%- endmacro %}

{% macro default__readable_path(fullkey) -%}
    case
        when contains({{ fullkey }}, '.""') or contains({{ fullkey }}, '."*"')
            then array_to_string(
                list_transform(
                    regexp_extract_all(
                        {{ fullkey }}, '\."(?:[^"\\]|\\.)*"|\.[^."\[]+|\[[0-9]+\]'
                    ),
                    lambda part: '/' || replace(
                        replace(
                            case
                                when part[1] = '[' then part[2:-2]
                                when part[2] = '"'
                                    then regexp_replace(part[3:-2], '\\(.)', '\1', 'gs')
                                else part[2:]
                            end,
                            '~',
                            '~0'
                        ),
                        '/',
                        '~1'
                    )
                ),
                ''
            )
        else {{ fullkey }}
    end
{%- endmacro %}

{#- There every key is looked up as it is written. -#}
{% macro spark__readable_path(fullkey) -%}
    {{ fullkey }}
{%- endmacro %}
