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
