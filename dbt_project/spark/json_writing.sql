{#- JSON, written from columns. -#}

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

{% macro spark__json_of_text(text) -%}
    case when {{ text }} is not null then {{ spark__quoted(text) }} end
{%- endmacro %}

{#- A text as JSON. -#}
{% macro spark__quoted(text) -%}
    regexp_replace(to_json(array({{ text }})), '^\[|\]\z', '')
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
