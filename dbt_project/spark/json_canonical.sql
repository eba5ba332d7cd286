{#- One text for documents that say the same. -#}

{#- The values of the document level by level, then from the last level upwards the text
    of each, made of the texts of those within it. A key is sorted by itself, a place in a
    list as a number. -#}
{% macro spark__canonical_json(document) -%}
    transform(
        array(regexp_replace({{ document }}, '^\s+', '')),
        whole -> aggregate(
            reverse(aggregate(
                sequence(1, length(regexp_replace(whole, '[^\[{]', ''))),
                array(array(struct(
                    '' as parent, '' as key, 0 as place, '$' as path, '' as label, whole as value
                ))),
                (levels, level) -> concat(levels, array(flatten(transform(
                    element_at(levels, -1), node -> {{ spark__labelled_children('node') }}
                ))))
            )),
            cast(array() as array<struct<
                parent: string, key: string, place: int, path: string, text: string
            >>),
            (below, level) -> transform(level, node -> struct(
                node.parent as parent, node.key as key, node.place as place, node.path as path,
                node.label || case left(node.value, 1)
                    when '{' then '{' || array_join(
                        array_sort(filter(below, child -> child.parent = node.path)).text, ','
                    ) || '}'
                    when '[' then '[' || array_join(
                        array_sort(filter(below, child -> child.parent = node.path)).text, ','
                    ) || ']'
                    else {{ spark__canonical_leaf('node.value') }}
                end as text
            )),
            found -> nullif(found[0].text, 'null')
        )
    )[0]
{%- endmacro %}

{#- The members of an object and the elements of a list: the path of each names it, its
    label stands before it. -#}
{% macro spark__labelled_children(node) -%}
    case left({{ node }}.value, 1)
        when '{' then transform(
            map_entries({{ spark__marked_json(node ~ '.value', 'map<string, string>') }}),
            entry -> struct(
                {{ node }}.path as parent, substr(entry.key, 2) as key, 0 as place,
                {{ node }}.path || {{ spark__quoted('substr(entry.key, 2)') }} as path,
                {{ spark__quoted('substr(entry.key, 2)') }} || ':' as label,
                {{ spark__unmarked_value('entry.value') }} as value
            )
        )
        when '[' then transform(
            {{ spark__json_elements(node ~ '.value') }},
            (element, place) -> struct(
                {{ node }}.path as parent, '' as key, place as place,
                {{ node }}.path || '[' || cast(place as string) || ']' as path,
                '' as label, element as value
            )
        )
        else array()
    end
{%- endmacro %}

{#- A number as DuckDB writes it, whole ones without `.0`. -#}
{% macro spark__canonical_leaf(value) -%}
    case
        when left({{ value }}, 1) = '"'
            then {{ spark__quoted(spark__json_string(value)) }}
        when {{ value }} = '-0' then '0'
        when {{ value }} rlike '^-?[0-9]+$'
            and try_cast({{ value }} as decimal(38, 0))
                between -9223372036854775808 and 18446744073709551615
            then {{ value }}
        when {{ value }} rlike '^[-0-9]' then regexp_replace(
            replace({{ spark__json_of('cast(' ~ value ~ ' as double)') }}, '"', ''),
            '\.0$', ''
        )
        else {{ value }}
    end
{%- endmacro %}

{% macro spark__without_blanks(document) -%}
    {{ spark__canonical_json(document) }}
{%- endmacro %}
