{#- Documents to rows. -#}

{#- Every value inside a JSON document, the document itself first: fullkey (a path), value. -#}
{% macro json_nodes(document) -%}
    {{ return(adapter.dispatch('json_nodes')(document)) }}
{%- endmacro %}

{% macro default__json_nodes(document) -%}
    json_tree({{ document }})
{%- endmacro %}

{% macro spark__json_nodes(document) -%}
    lateral inline({{ spark__json_node_list(document) }})
{%- endmacro %}

{#- A level of the document after the other. -#}
{% macro spark__json_node_list(document) -%}
    transform(
        array({{ document }}),
        whole -> aggregate(
            sequence(1, length(regexp_replace(whole, '[^\[{]', '')) + 1),
            struct(
                array(struct('$' as fullkey, {{ spark__compact_json('whole') }} as value)) as found,
                array(struct('$' as fullkey, whole as value)) as newest
            ),
            (levels, level) -> case
                when array_size(levels.newest) = 0 then levels
                else transform(
                    array(flatten(transform(
                        levels.newest, node -> {{ spark__json_children('node') }}
                    ))),
                    children -> struct(
                        concat(levels.found, transform(children, child -> struct(
                            child.fullkey as fullkey,
                            {{ spark__compact_json('child.value') }} as value
                        ))) as found,
                        children as newest
                    )
                )[0]
            end,
            levels -> levels.found
        )
    )[0]
{%- endmacro %}

{#- The members of an object and the elements of a list, each with its path. -#}
{% macro spark__json_children(node) -%}
    case left({{ node }}.value, 1)
        when '{' then transform(
            map_entries({{ spark__marked_json(node ~ '.value', 'map<string, string>') }}),
            entry -> struct(
                {{ node }}.fullkey || '."' || regexp_replace(
                    substr(entry.key, 2), '(["\\])', '\\$1'
                ) || '"' as fullkey,
                {{ spark__unmarked_value('entry.value') }} as value
            )
        )
        when '[' then transform(
            {{ spark__json_elements(node ~ '.value') }},
            (element, place) -> struct(
                {{ node }}.fullkey || '[' || cast(place as string) || ']' as fullkey,
                element as value
            )
        )
        else cast(array() as array<struct<fullkey: string, value: string>>)
    end
{%- endmacro %}
