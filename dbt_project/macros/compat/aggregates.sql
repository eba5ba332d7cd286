{#- Aggregates whose spelling differs from engine to engine. -#}

{#- Aggregate: the texts of a column joined in an order, null where there is none. With
    `distinct` each is taken once, in the order of the texts themselves. -#}
{% macro joined(text, separator, order_by, distinct=false) -%}
    {{ return(adapter.dispatch('joined')(text, separator, order_by, distinct)) }}
{%- endmacro %}

{% macro default__joined(text, separator, order_by, distinct) -%}
    string_agg({{ 'distinct ' if distinct }}{{ text }}, {{ separator }} order by {{ order_by }})
{%- endmacro %}

{% macro spark__joined(text, separator, order_by, distinct) -%}
    case
        when count({{ text }}) > 0 then array_join(
            {%- if distinct %}
            array_sort(collect_set({{ text }})),
            {%- else %}
            {{ spark__ordered_list(text, order_by) }},
            {%- endif %}
            {{ separator }}
        )
    end
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

{% macro spark__trimmed_mean_of(column, trim) -%}
    {%- set n_cut = n_trimmed('count(' ~ column ~ ')', trim) -%}
    aggregate(
        slice(
            array_sort(collect_list({{ column }})),
            {{ n_cut }} + 1, count({{ column }}) - 2 * {{ n_cut }}
        ),
        0e0, (total, k) -> total + k
    ) / nullif(count({{ column }}) - 2 * {{ n_cut }}, 0)
{%- endmacro %}
