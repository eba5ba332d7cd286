{#- The name of a judge that a file of a tool names: its models, else the fallback, and a hash
    of what it was told. Null where the file names none. *named* is the name of a relation
    like int_judges_named, left joined. -#}
{% macro named_judge(named, fallback) -%}
    case
        when {{ named }}.task_id is not null
            then concat_ws(' ', coalesce({{ named }}.models, {{ fallback }}), {{ named }}.version)
    end
{%- endmacro %}
