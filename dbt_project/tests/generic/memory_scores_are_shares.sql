{#- The status is a known one. Of each metric: a score lies between 0 and 1, a failed call has none, and neither has a
    question that does not count; answers with the same tokens have a token_f1 of 1. -#}
{% test memory_scores_are_shares(model) %}

select
    run_id,
    task_id,
    test_index,
    question_index
from {{ model }} as scored
where
    status not in ('pass', 'fail', 'error', 'unevaluated')
    or exact_match = 1 and token_f1 <> 1
    {%- for metric, counts in fromjson(memory_metrics()).items() %}
    or {{ metric }} is not null
    and ({{ metric }} not between 0 and 1 or is_failed or not ({{ counts }}))
    {%- endfor %}

{% endtest %}
