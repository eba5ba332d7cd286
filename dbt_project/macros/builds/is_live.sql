{#- The condition that a row of a raw table counts: its load is one that its object is live in.
    A file may have several tasks. -#}
{% macro is_live(of=none) -%}
    {%- set objects = ref('promptlab', 'live_objects') -%}
    {%- if of == 'task' -%}
        (load_id, task_id) in (select live.load_id, live.object_id from {{ objects }} as live where live.kind = 'task')
    {%- else -%}
        load_id in (select live.load_id from {{ objects }} as live)
    {%- endif -%}
{%- endmacro %}


{#- What tells one answer of a round from another; the same however its JSON is written. -#}
{% macro answer_hash(rounds) -%}
    md5(concat_ws(
        ' ',
        coalesce({{ rounds }}.raw_output, '-'),
        coalesce({{ without_blanks(rounds ~ '.parsed_output') }}, '-'),
        coalesce({{ without_blanks(rounds ~ '.final_output') }}, '-'),
        coalesce({{ without_blanks(rounds ~ '.step_outputs') }}, '-')
    ))
{%- endmacro %}
