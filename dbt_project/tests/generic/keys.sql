{#- What holds across rows, as one node of a build: a key is there once, a null like any other
    value; and a row has its parents, a null none. Gives the key of each row that breaks one
    of these rules, and which. `batch`: of a view of all history, the rows of this build;
    `within`: of a view that few rows need, those whose first key is in this model. -#}
{% test keys(model, key, also_unique=[], belongs_to=[], batch=none, within=none) %}

{%- set checked -%}
    {%- if batch -%}
        (select * from {{ model }} where {{ in_this_build(batch, key[0]) }})
    {%- elif within -%}
        (
            select * from {{ model }}
            where {{ key[0] }} in (select {{ key[0] }} from {{ ref('promptlab', within) }})
        )
    {%- else -%}
        {{ model }}
    {%- endif -%}
{%- endset %}
{% for columns in [key] + also_unique %}
select
    'more than one row of {{ columns | join(", ") }}' as broken_rule,
    {%- for column in key %}
    {{ column if column in columns else 'min(' ~ column ~ ') as ' ~ column }}
    {{- ',' if not loop.last }}
    {%- endfor %}
from {{ checked }} as checked
group by {{ columns | join(', ') }}
having count(*) > 1
{{ 'union all' if not loop.last or belongs_to }}
{%- endfor %}
{%- for rule in belongs_to %}
{%- set pairs = (
    rule.columns.items() if rule.columns is mapping else zip(rule.columns, rule.columns)
) | list %}
select
    'no row of {{ rule.parent }} for {{ rule.columns | join(", ") }}' as broken_rule,
    {%- for column in key %}
    checked.{{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ checked }} as checked
left join {{ ref('promptlab', rule.parent) }} as parent
    on
        {%- for child_column, parent_column in pairs %}
        {{ 'and ' if not loop.first }}checked.{{ child_column }} = parent.{{ parent_column }}
        {%- endfor %}
where
    parent.{{ (pairs | first)[1] }} is null
    {%- for child_column, parent_column in pairs %}
    and checked.{{ child_column }} is not null
    {%- endfor %}
{{ 'union all' if not loop.last }}
{%- endfor %}

{% endtest %}
