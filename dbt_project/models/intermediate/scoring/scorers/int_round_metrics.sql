-- One row per round and dimension: the scorer's metric, or why there is none. Stability,
-- which looks at the scores made of these, joins in int_round_scores.
{%- set scorers = [
    'accuracy', 'accuracy_by_json', 'expectations', 'rules', 'consistency', 'format', 'measures', 'keywords',
    'error_rate', 'judged', 'unscorable_dimensions',
] %}

with

metrics as (

    {%- for scorer in scorers %}

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        metric,
        reason,
        expected,
        actual,
        detail

    from {{ ref('int_' ~ scorer ~ '_scored') }}
    {%- if not loop.last %}

    union all
    {%- endif %}
    {%- endfor %}

)

select * from metrics
