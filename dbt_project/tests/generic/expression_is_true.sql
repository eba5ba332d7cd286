{#- Rows for which the expression is not true; a null counts as not true.
    On a column, the expression follows the column's name. -#}
{% test expression_is_true(model, expression, column_name=none) %}

select *
from {{ model }}
where not coalesce({{ column_name or '' }} {{ expression }}, false)

{% endtest %}
