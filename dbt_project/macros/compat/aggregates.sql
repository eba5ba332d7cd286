{#- Aggregates and small functions whose spelling differs from engine to engine. -#}

{#- A JSON object of chosen keys: json_object_of({'n': 'count(*)'}). -#}
{% macro json_object_of(members) -%}
    {{ return(adapter.dispatch('json_object_of')(members)) }}
{%- endmacro %}

{% macro default__json_object_of(members) -%}
    json_object(
        {%- for key, value in members.items() %}
        '{{ key }}', {{ value }}{{ ',' if not loop.last }}
        {%- endfor %}
    )
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
                cast(to_json({{ key }}) as varchar)
                || ':' || coalesce(cast(to_json({{ value }}) as varchar), 'null'),
                ',' order by {{ order_by }}
            ) filter (where {{ condition }}),
            ''
        ) || '}' as json
    )
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

{#- The elements of a JSON list, each as JSON. -#}
{% macro json_elements(document) -%}
    {{ return(adapter.dispatch('json_elements')(document)) }}
{%- endmacro %}

{% macro default__json_elements(document) -%}
    json_extract({{ document }}, '$[*]')
{%- endmacro %}

{#- How many elements of a list pass a test of text `k`. -#}
{% macro count_where(list, condition) -%}
    {{ return(adapter.dispatch('count_where')(list, condition)) }}
{%- endmacro %}

{% macro default__count_where(list, condition) -%}
    len(list_filter({{ list }}, lambda k: {{ condition }}))
{%- endmacro %}

{#- One and the same text for objects that differ only in the order of their keys, and
    for 1 and 1.0. Strings are stepped over, so that a "1.0" inside one stays. -#}
{% macro canonical_json(document) -%}
    {{ return(adapter.dispatch('canonical_json')(document)) }}
{%- endmacro %}

{% macro default__canonical_json(document) -%}
    case
        when contains({{ document }}, '.') then regexp_replace(
            {{ default__with_sorted_keys(document) }},
            '("(?:[^"\\]|\\.)*")|(\d)\.0+\b', '\1\2', 'g'
        )
        else {{ default__with_sorted_keys(document) }}
    end
{%- endmacro %}

{% macro default__with_sorted_keys(document) -%}
    cast(cast(cast(cast({{ document }} as json) as variant) as json) as varchar)
{%- endmacro %}

{#- Whether a text is JSON. The engine lets a trailing comma, NaN and Infinity pass; a look
    at what stands outside the strings does not. -#}
{% macro is_json_text(text) -%}
    {{ return(adapter.dispatch('is_json_text')(text)) }}
{%- endmacro %}

{% macro default__is_json_text(text) -%}
    (
        json_valid({{ text }})
        and not regexp_matches(
            regexp_replace({{ text }}, '"(?:[^"\\]|\\.)*"', '""', 'g'),
            ',\s*[}\]]|NaN|Infinity'
        )
    )
{%- endmacro %}

{#- A number with a fixed count of decimals, as text. -#}
{% macro fixed_decimals(number, digits) -%}
    {{ return(adapter.dispatch('fixed_decimals')(number, digits)) }}
{%- endmacro %}

{% macro default__fixed_decimals(number, digits) -%}
    printf('%.{{ digits }}f', {{ number }})
{%- endmacro %}

{#- ln(n!), for counts too large for n! itself. -#}
{% macro ln_factorial(n) -%}
    {{ return(adapter.dispatch('ln_factorial')(n)) }}
{%- endmacro %}

{% macro default__ln_factorial(n) -%}
    lgamma(({{ n }}) + 1)
{%- endmacro %}

{#- A list of one element. -#}
{% macro one_element_list(value) -%}
    {{ return(adapter.dispatch('one_element_list')(value)) }}
{%- endmacro %}

{% macro default__one_element_list(value) -%}
    [{{ value }}]
{%- endmacro %}

{#- How many characters two texts have in common from their start. -#}
{% macro common_prefix_length(left_text, right_text) -%}
    {{ return(adapter.dispatch('common_prefix_length')(left_text, right_text)) }}
{%- endmacro %}

{% macro default__common_prefix_length(left_text, right_text) -%}
    len(list_filter(
        range(1, least(length({{ left_text }}), length({{ right_text }})) + 1),
        lambda n: left({{ left_text }}, n) = left({{ right_text }}, n)
    ))
{%- endmacro %}

{#- Aggregate: the mean of a column without the share `trim` of it on each side. -#}
{% macro trimmed_mean_of(column, trim) -%}
    {{ return(adapter.dispatch('trimmed_mean_of')(column, trim)) }}
{%- endmacro %}

{% macro default__trimmed_mean_of(column, trim) -%}
    list_aggregate(
        list_slice(
            list_sort(list({{ column }})),
            {{ n_trimmed('count(' ~ column ~ ')', trim) }} + 1,
            count({{ column }}) - {{ n_trimmed('count(' ~ column ~ ')', trim) }}
        ),
        'avg'
    )
{%- endmacro %}

{#- Every value inside a JSON document, the document itself first: fullkey (a path), value. -#}
{% macro json_nodes(document) -%}
    {{ return(adapter.dispatch('json_nodes')(document)) }}
{%- endmacro %}

{% macro default__json_nodes(document) -%}
    json_tree({{ document }})
{%- endmacro %}

{#- The value at a path of a column; null where the engine cannot read the path. -#}
{% macro try_json_value_at(document, path) -%}
    {{ return(adapter.dispatch('try_json_value_at')(document, path)) }}
{%- endmacro %}

{% macro default__try_json_value_at(document, path) -%}
    try(json_extract({{ document }}, {{ path }}))
{%- endmacro %}
