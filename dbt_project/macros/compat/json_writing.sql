{#- JSON written from columns, the same text on every engine. -#}

{#- A JSON object of chosen keys: json_object_of({'n': 'count(*)'}). `documents` names the
    keys whose values are JSON already: not every engine can tell them from texts. -#}
{% macro json_object_of(members, documents=[]) -%}
    {{ return(adapter.dispatch('json_object_of')(members, documents)) }}
{%- endmacro %}

{% macro default__json_object_of(members, documents) -%}
    json_object(
        {%- for key, value in members.items() %}
        '{{ key }}', {{ value }}{{ ',' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro %}

{% macro spark__json_object_of(members, documents) -%}
    concat(
        {%- for key, value in members.items() %}
        '{{ '{' if loop.first else ',' }}"{{ key }}":',
        {% if key in documents -%}
            coalesce({{ value }}, 'null')
        {%- else -%}
            {{ spark__json_of(value) }}
        {%- endif -%},
        {%- endfor %}
        '}'
    )
{%- endmacro %}

{#- A text, number, truth value or list as JSON. Doubles as DuckDB writes them: digits from
    1e-6 to 1e21, where Java's own text has an exponent. -#}
{% macro spark__json_of(value) -%}
    {%- set text = 'substring(to_json(array(' ~ value ~ ')), 2, length(to_json(array('
        ~ value ~ '))) - 2)' -%}
    case
        when typeof({{ value }}) = 'double' and {{ text }} like '%E%' then case
            when {{ text }} rlike 'E-[1-6]$' then regexp_replace(
                cast(try_cast({{ text }} as decimal(38, 25)) as string), '0+$', ''
            )
            when {{ text }} rlike 'E([0-9]|1[0-9]|20)$' then regexp_replace(
                regexp_replace(
                    cast(try_cast({{ text }} as decimal(38, 16)) as string), '0+$', ''
                ),
                '\.$', '.0'
            )
            else regexp_replace(replace({{ text }}, 'E', 'e'), '\.0e', 'e')
        end
        else {{ text }}
    end
{%- endmacro %}

{#- Aggregate: a JSON object from a column of keys and one of values, in an order;
    `condition` leaves rows out. -#}
{% macro json_map_of(key, value, order_by, condition='true') -%}
    {{ return(adapter.dispatch('json_map_of')(key, value, order_by, condition)) }}
{%- endmacro %}

{% macro default__json_map_of(key, value, order_by, condition) -%}
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

{% macro spark__json_map_of(key, value, order_by, condition) -%}
    '{' || array_join(
        {{ spark__ordered_list(
            'concat(' ~ spark__json_of(key) ~ ", ':', " ~ spark__json_of(value) ~ ')',
            order_by, condition
        ) }},
        ','
    ) || '}'
{%- endmacro %}

{#- Aggregate: the values of the rows that meet a condition, in an order: nulls last. The
    order is expressions with commas between them, none within; `desc` is not read. -#}
{% macro spark__ordered_list(value, order_by, condition='true') -%}
    array_sort(collect_list(struct(
        {%- for key in order_by.split(',') %}
        {{ key | trim }} is null as no_key_{{ loop.index }},
        {{ key | trim }} as key_{{ loop.index }},
        {%- endfor %}
        {{ value }} as value
    )) filter (where {{ condition }})).value
{%- endmacro %}

{#- Aggregate: a JSON list of a column's first `at_most` values in an order; `condition`
    leaves rows out. -#}
{% macro json_list_of(value, order_by, condition='true', at_most=50) -%}
    {{ return(adapter.dispatch('json_list_of')(value, order_by, condition, at_most)) }}
{%- endmacro %}

{% macro default__json_list_of(value, order_by, condition, at_most) -%}
    to_json(
        list_slice(
            coalesce(list({{ value }} order by {{ order_by }}) filter (where {{ condition }}), []),
            1, {{ at_most }}
        )
    )
{%- endmacro %}

{% macro spark__json_list_of(value, order_by, condition, at_most) -%}
    to_json(slice(
        {%- if value.startswith('distinct ') %}
        array_sort(collect_set({{ value[9:] }}) filter (where {{ condition }})),
        {%- else %}
        {{ spark__ordered_list(value, order_by, condition) }},
        {%- endif %}
        1, {{ at_most }}
    ))
{%- endmacro %}
