{#- JSON, written from columns: the same text on every engine. -#}

{#- A JSON object of chosen keys: json_object_of({'n': 'count(*)'}). `documents` names the
    keys whose values are JSON already: not every engine can tell them from texts. -#}
{% macro json_object_of(members, documents=[]) -%}
    json_object(
        {%- for key, value in members.items() %}
        '{{ key }}', {{ 'cast(' ~ value ~ ' as json)' if key in documents else value }}
        {{- ',' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro %}

{#- A text as a JSON text; null for null. -#}
{% macro json_of_text(text) -%}
    to_json({{ text }})
{%- endmacro %}

{#- Aggregate: a JSON object from a column of keys and one of values, in an order;
    `condition` leaves rows out. -#}
{% macro json_map_of(key, value, order_by, condition='true') -%}
    cast(
        '{' || coalesce(
            string_agg(
                cast(to_json({{ key }}) as string)
                || ':' || coalesce(cast(to_json({{ value }}) as string), 'null'),
                ',' order by {{ order_by }}
            ) filter (where {{ condition }}),
            ''
        ) || '}' as json
    )
{%- endmacro %}

{#- Aggregate: a JSON list of a column's first `at_most` values in an order; `condition`
    leaves rows out. -#}
{% macro json_list_of(value, order_by, condition='true', at_most=50) -%}
    to_json(
        list_slice(
            coalesce(list({{ value }} order by {{ order_by }}) filter (where {{ condition }}), []),
            1, {{ at_most }}
        )
    )
{%- endmacro %}
