{#- What a sentence about a comparison tells, as JSON: columns of int_comparisons_judged. -#}
{% macro comparison_facts(judged) -%}
    {%- set facts = {} -%}
    {%- for column in [
        'level', 'subject', 'name', 'verdict', 'reason', 'n_pairs', 'baseline_score',
        'candidate_score', 'delta', 'ci_low', 'ci_high', 'p_value', 'p_adjusted',
        'smallest_detectable', 'margin',
    ] -%}
        {%- do facts.update({column: judged ~ '.' ~ column}) -%}
    {%- endfor -%}
    {{ json_object_of(facts) }}
{%- endmacro %}
