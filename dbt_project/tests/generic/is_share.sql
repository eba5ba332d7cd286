{#- Values outside 0 to 1; null (not scored) is fine. -#}
{% test is_share(model, column_name) %}

select {{ column_name }}
from {{ model }}
where {{ column_name }} < 0 or {{ column_name }} > 1

{% endtest %}
