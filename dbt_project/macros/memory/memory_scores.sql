{#- The scores that an answer gets: each is a column of `int_memory_answers_scored`, and the
    condition names the questions that count for it, answered or failed. They are dimensions
    of the run in this order; a JSON object. -#}
{% macro memory_metrics() -%}
{
    "locomo_f1": "(has_reference or coalesce(category, '') = '5')",
    "token_f1": "has_reference",
    "exact_match": "has_reference",
    "contains_reference": "has_reference",
    "mem0_f1": "has_reference and coalesce(category, '') <> '5'",
    "cmrc_f1": "(has_reference or coalesce(category, '') = '5')",
    "chinese_match": "(is_failed or chinese_match is not null)"
}
{%- endmacro %}

{#- The metrics that only runs with Chinese references have. -#}
{% macro chinese_metrics() -%}
    ('cmrc_f1', 'chinese_match')
{%- endmacro %}

{#- A row per metric, as a relation of one column. -#}
{% macro memory_metric_rows() -%}
    (
        {%- for metric in fromjson(memory_metrics()) %}
        select
            '{{ metric }}' as metric,
            {{ loop.index0 }} as place
        {{ 'union all' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro %}

{#- What each metric has, chosen by a column with its name: `{metric}` in the text is that
    name, and `{counts}` the condition under which a question counts. -#}
{% macro by_memory_metric(metric, text) -%}
    case {{ metric }}
        {%- for name, counts in fromjson(memory_metrics()).items() %}
        when '{{ name }}' then {{ text | replace('{metric}', name) | replace('{counts}', counts) }}
        {%- endfor %}
    end
{%- endmacro %}
