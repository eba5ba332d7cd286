{#- Sums that must come out the same whatever the order of the rows, and of series. -#}

{#- Sum of an expression of `k` over the whole numbers from one to another, in steps; 0
    over none. The last one is excluded. -#}
{% macro sum_of_series(expression, first, end, step=1) -%}
    {{ return(adapter.dispatch('sum_of_series')(expression, first, end, step)) }}
{%- endmacro %}

{% macro default__sum_of_series(expression, first, end, step) -%}
    coalesce(
        list_sum(list_transform(
            range({{ first }}, {{ end }}, {{ step }}), lambda k: {{ expression }}
        )),
        0
    )
{%- endmacro %}

{#- A sequence that would be empty runs backwards here. -#}
{% macro spark__sum_of_series(expression, first, end, step) -%}
    case
        when {{ first }} < {{ end }} then aggregate(
            sequence(
                cast({{ first }} as bigint), cast({{ end }} as bigint) - 1,
                cast({{ step }} as bigint)
            ),
            0e0,
            (total, k) -> total + {{ expression }}
        )
        else 0e0
    end
{%- endmacro %}

{#- Aggregate: n² times the population variance of a column of bigints, which no double
    has to round: 0 is 0. Sums of bigints are 128 bits wide, or decimals of 38 digits. -#}
{% macro exact_squared_spread(column) -%}
    {{ return(adapter.dispatch('exact_squared_spread')(column)) }}
{%- endmacro %}

{% macro default__exact_squared_spread(column) -%}
    (
        count({{ column }}) * sum({{ column }} * {{ column }})
        - sum({{ column }}) * sum({{ column }})
    )
{%- endmacro %}

{% macro spark__exact_squared_spread(column) -%}
    {%- set whole = 'cast(' ~ column ~ ' as decimal(18, 0))' -%}
    (
        count({{ column }}) * sum({{ whole }} * {{ whole }})
        - sum({{ whole }}) * sum({{ whole }})
    )
{%- endmacro %}
