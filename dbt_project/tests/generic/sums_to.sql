{#- Groups whose column does not sum to one of the allowed totals. -#}
{% test sums_to(model, column, group_by, allowed) %}

select
    {{ group_by | join(', ') }},
    sum({{ column }}) as total
from {{ model }}
group by {{ group_by | join(', ') }}
having
    {%- for total in allowed %}
    abs(sum({{ column }}) - {{ total }}) > 1e-9{{ ' and' if not loop.last }}
    {%- endfor %}

{% endtest %}
