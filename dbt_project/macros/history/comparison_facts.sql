{#- What a sentence about a comparison tells, as JSON: columns of int_comparison_tests.
    The last digits of a p-value are each engine's own: no text has them. -#}
{% macro comparison_facts(judged) -%}
    json_object(
        {%- for column in [
            'level', 'subject', 'name', 'verdict', 'reason', 'n_pairs', 'baseline_score',
            'candidate_score', 'delta', 'ci_low', 'ci_high',
        ] %}
        '{{ column }}', {{ judged }}.{{ column }},
        {%- endfor %}
        'p_value', round({{ judged }}.p_value, 12),
        'p_adjusted', round({{ judged }}.p_adjusted, 12),
        'smallest_detectable', {{ judged }}.smallest_detectable,
        'margin', {{ judged }}.margin
    )
{%- endmacro %}
