{#- The rows of a raw table that count: those of the loads that their object is live in. -#}
{% macro live_rows(table) -%}
    select source.*
    from {{ source('raw', table) }} as source
    where source.load_id in (select objects.load_id from {{ ref('promptlab', 'live_objects') }} as objects)
{%- endmacro %}

{#- The same of a table whose rows belong to tasks: a file may have several. -#}
{% macro live_rows_of_tasks(table) -%}
    select source.*
    from {{ source('raw', table) }} as source
    inner join {{ ref('promptlab', 'live_objects') }} as objects
        on
            source.load_id = objects.load_id
            and source.task_id = objects.object_id
            and objects.kind = 'task'
{%- endmacro %}

{#- What tells one answer of a round from another; the same however its JSON is written. -#}
{% macro answer_hash(rounds) -%}
    md5(concat_ws(
        ' ',
        coalesce({{ rounds }}.raw_output, '-'),
        coalesce(cast({{ canonical_json(rounds ~ '.parsed_output') }} as string), '-'),
        coalesce(cast({{ canonical_json(rounds ~ '.final_output') }} as string), '-'),
        coalesce(cast({{ canonical_json(rounds ~ '.step_outputs') }} as string), '-')
    ))
{%- endmacro %}
