{#- JSON, read from text. -#}

{% macro spark__as_json(text) -%}
    cast({{ text }} as string)
{%- endmacro %}

{#- Spark's own lookup is quick, but knows no JSON null, no number beyond a double and not
    every key, so what it does not find is looked for step by step: only where there is
    reason to, a missing key is common. -#}
{% macro spark__json_value_at(document, path) -%}
    coalesce(
        case
            when not {{ path }} rlike '{{ spark__unusual_path() }}'
                then {{ spark__json_found(document, spark__java_path(path)) }}
        end,
        case
            when {{ path }} rlike '{{ spark__unusual_path() }}'
                or {{ document }} rlike '{{ spark__hard_number() }}'
                or array_contains(
                    json_object_keys({{ spark__json_found(
                        document, spark__java_path(spark__parent_path(path))
                    ) }}),
                    regexp_extract({{ path }}, '\."([^"]*)"$', 1)
                )
                then {{ spark__json_walked(document, spark__path_parts(path)) }}
        end
    )
{%- endmacro %}

{#- What Spark finds at its own path, as JSON; in a list, since a text alone would come
    without its quotes. Null where a number may have become the text "Infinity". -#}
{% macro spark__json_found(document, path) -%}
    {{ spark__plain_numbers("get_json_object('[' || " ~ document ~ " || ']', " ~ path ~ ')') }}
{%- endmacro %}

{#- `$."a"[0]` as Spark writes it, below the list. -#}
{% macro spark__java_path(path) -%}
    '$[*]' || regexp_replace(substr({{ path }}, 2), '\."([^"]*)"', "['$1']")
{%- endmacro %}

{% macro spark__parent_path(path) -%}
    regexp_replace({{ path }}, '\."[^"]*"$', '')
{%- endmacro %}

{#- Pointers, and keys that Spark's paths cannot hold: escapes, quotes, `?`, `*`, blanks
    first. -#}
{% macro spark__unusual_path() -%}
    ^/|[\\\x27?]|\."\s
{%- endmacro %}

{#- Numbers beyond a double, which Spark takes for the text "Infinity", and of so many digits
    that its parser refuses them. -#}
{% macro spark__hard_number() -%}
    [eE]\+?[0-9]{3}|[0-9]{300}|Infinity"
{%- endmacro %}

{#- Doubles as DuckDB writes them: as few digits as tell the number, which Java's are not
    always, and an exponent only below 1e-6 and from 1e21. -#}
{% macro spark__plain_numbers(document) -%}
    transform(
        array({{ document }}),
        found -> case
            when contains(found, 'Infinity"') then null
            when found rlike '[0-9]E-?[0-9]|[.0-9]{17}' then array_join(
                transform(
                    regexp_extract_all(
                        found, '"(?:[^"\\]|\\.)*+"|-?[0-9][-+.0-9eE]*|[^-"0-9]++', 0
                    ),
                    token -> case
                        when token rlike '^-?[0-9]+\.[0-9]+E|^(?=.{17})-?[0-9]+\.[0-9]+$'
                            then {{ spark__plain_number('cast(token as double)') }}
                        else token
                    end
                ),
                ''
            )
            else found
        end
    )[0]
{%- endmacro %}

{#- 15 digits, or 16 or 17 where fewer are not the same double; then as digits alone, or with
    an exponent. -#}
{% macro spark__plain_number(number) -%}
    transform(
        array(case
            {%- for digits in [14, 15] %}
            when cast(format_string('%.{{ digits }}e', {{ number }}) as double) = {{ number }}
                then format_string('%.{{ digits }}e', {{ number }})
            {%- endfor %}
            else format_string('%.16e', {{ number }})
        end),
        n -> case
            when abs({{ number }}) >= 1 and abs({{ number }}) < 1e21 then regexp_replace(
                cast(cast(n as decimal(38, 16)) as string), '(\.[0-9]+?)0+$', '$1'
            )
            when abs({{ number }}) >= 1e-6 and abs({{ number }}) < 1
                then regexp_replace(cast(cast(n as decimal(38, 25)) as string), '0+$', '')
            else regexp_replace(regexp_replace(n, '\.?0*e', 'e'), 'e[+]?(-?)0*', 'e$1')
        end
    )[0]
{%- endmacro %}

{#- A path or pointer as a list of its parts: `[0`, `.key`, or `/key`, which is a place in a
    list too. -#}
{% macro spark__path_parts(path) -%}
    case
        when left({{ path }}, 1) = '/' then transform(
            split(substr({{ path }}, 2), '/'),
            part -> '/' || replace(replace(part, '~1', '/'), '~0', '~')
        )
        else transform(
            regexp_extract_all({{ path }}, '\."(?:[^"\\]|\\.)*+"|\[[0-9]+', 0),
            part -> case
                when left(part, 1) = '[' then part
                else '.' || regexp_replace(substr(part, 3, length(part) - 3), '\\(.)', '$1')
            end
        )
    end
{%- endmacro %}

{#- The value at the end of a list of parts, one step into the document after the other. -#}
{% macro spark__json_walked(document, parts) -%}
    {{ spark__compact_json('aggregate(
        ' ~ parts ~ ',
        cast(' ~ document ~ ' as string),
        (document_left, part) -> case
            when left(document_left, 1) = \'{\' and left(part, 1) <> \'[\'
                then ' ~ spark__slow_member('document_left', 'substr(part, 2)') ~ '
            when left(document_left, 1) = \'[\' and part rlike \'^[/\\[](0|[1-9][0-9]{0,8})$\'
                then get(
                    ' ~ spark__json_elements('document_left') ~ ', cast(substr(part, 2) as int)
                )
        end
    )') }}
{%- endmacro %}

{#- What a step left, as an extraction writes it; a number beyond a double as it stands. -#}
{% macro spark__compact_json(document) -%}
    transform(
        array({{ document }}),
        taken -> coalesce({{ spark__json_found('taken', "'$[*]'") }}, taken)
    )[0]
{%- endmacro %}

{#- The member of an object by any key. -#}
{% macro spark__slow_member(document, key) -%}
    transform(
        array({{ spark__marked_json(document, 'map<string, string>') }}),
        members -> case
            when map_contains_key(members, chr(1) || {{ key }})
                then {{ spark__unmarked_value('element_at(members, chr(1) || ' ~ key ~ ')') }}
        end
    )[0]
{%- endmacro %}

{#- A document read as a list or map of texts. Every text in it starts with a mark, so that
    the text "1" is not the number 1. -#}
{% macro spark__marked_json(document, type) -%}
    from_json(
        regexp_replace({{ document }}, '"((?:[^"\\]|\\.)*+)"', concat('"', chr(1), '$1"')),
        '{{ type }}',
        map('allowUnquotedControlChars', 'true')
    )
{%- endmacro %}

{#- A value of such a list or map as JSON again. A number beyond a double came as a text
    without a mark: any such number will do. -#}
{% macro spark__unmarked_value(value) -%}
    case
        when {{ value }} is null then 'null'
        when left({{ value }}, 1) = chr(1) then {{ spark__quoted('substr(' ~ value ~ ', 2)') }}
        else regexp_replace(
            regexp_replace({{ value }}, '"(-?)Infinity"', '$11e999'),
            '"(?:\x01|\\u0001)((?:[^"\\]|\\.)*+)"', '"$1"'
        )
    end
{%- endmacro %}

{% macro spark__json_object_member(document, key) -%}
    coalesce(
        case
            when not {{ key }} rlike '^\s|[\x27?]|^\*?$'
                then {{ spark__json_found(document, "concat('$[*][', \"'\", " ~ key ~ ", \"']\")") }}
        end,
        case
            when array_contains(json_object_keys({{ document }}), {{ key }})
                or {{ document }} rlike '{{ spark__hard_number() }}'
                then {{ spark__compact_json(spark__slow_member(document, key)) }}
        end
    )
{%- endmacro %}

{% macro spark__json_text(document, key) -%}
    coalesce(
        case
            when get_json_object('[' || {{ document }} || ']', "$[*]['{{ key }}']") like '"%'
                then get_json_object({{ document }}, "$['{{ key }}']")
        end,
        {{ spark__json_field(document, key) }}
    )
{%- endmacro %}

{% macro spark__json_field(document, key) -%}
    {{ spark__json_found(document, '"$[*][\'' ~ key ~ '\']"') }}
{%- endmacro %}

{% macro spark__json_string(document) -%}
    get_json_object({{ document }}, '$')
{%- endmacro %}

{% macro spark__json_elements(document) -%}
    transform(
        {{ spark__marked_json(document, 'array<string>') }},
        element -> {{ spark__unmarked_value('element') }}
    )
{%- endmacro %}

{% macro spark__json_text_elements(document) -%}
    transform(
        {{ spark__json_elements(document) }},
        text_element -> {{ json_as_text('text_element') }}
    )
{%- endmacro %}

{% macro spark__json_object_keys(document) -%}
    json_object_keys({{ document }})
{%- endmacro %}
