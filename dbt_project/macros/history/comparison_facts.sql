{#- What a sentence about a comparison tells, as JSON: columns of int_comparisons_judged.
    The last digits of a p-value are each engine's own: no text has them. -#}
{% macro comparison_facts(judged) -%}
    {%- set facts = {} -%}
    {%- for column in [
        'level', 'subject', 'name', 'verdict', 'reason', 'n_pairs', 'baseline_score',
        'candidate_score', 'delta', 'ci_low', 'ci_high', 'p_value', 'p_adjusted',
        'smallest_detectable', 'margin',
    ] -%}
        {%- do facts.update({column: judged ~ '.' ~ column}) -%}
    {%- endfor -%}
    {%- for column in ['p_value', 'p_adjusted'] -%}
        {%- do facts.update({column: 'round(' ~ judged ~ '.' ~ column ~ ', 12)'}) -%}
    {%- endfor -%}
    {{ json_object_of(facts) }}
{%- endmacro %}
