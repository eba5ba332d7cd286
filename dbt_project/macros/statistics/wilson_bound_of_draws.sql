{#- Bound of the 95 % interval of the share of hits among hits and misses that were drawn
    apart: a label of a hit stands for `hit_weight` answers, one of a miss for `miss_weight`.
    The odds of Wilson's bound for the labels, times the ratio of these weights: where no miss
    was drawn, some that stand for many answers may be there. With equal weights it is Wilson's.
    `hits` and `misses` are labels, or effective numbers of them. `side` is -1 for the lower and
    1 for the upper bound. -#}
{% macro wilson_bound_of_draws(hits, misses, hit_weight, miss_weight, side) -%}
    {%- set n = '(' ~ hits ~ ' + ' ~ misses ~ ')' -%}
    {%- set bound = wilson_bound('(' ~ hits ~ ' / nullif(' ~ n ~ ', 0))', n, side) -%}
    {{ bound }} * {{ hit_weight }}
    / ({{ bound }} * {{ hit_weight }} + (1 - {{ bound }}) * {{ miss_weight }})
{%- endmacro %}
