{#- Rows without a parent, over one or several columns. -#}
{% test belongs_to(model, parent, columns) %}

select child.*
from {{ model }} as child
left join {{ parent }} as parent
    on
        {%- for column in columns %}
        child.{{ column }} = parent.{{ column }}{{ ' and' if not loop.last }}
        {%- endfor %}
where parent.{{ columns[0] }} is null

{% endtest %}
