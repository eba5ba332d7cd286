{#- The words that mem0 compares: lower-case, `. , ! ?` to blanks, cut at white space. -#}
{% macro mem0_words(text) -%}
    {{ words("translate(" ~ lowered(text) ~ ", '.,!?', '    ')") }}
{%- endmacro %}

{#- F1 of two lists of words as sets, as mem0 publishes it: an empty side is 0, both
    empty too. Give it columns; each argument is read more than once. -#}
{% macro mem0_f1(answer_words, reference_words) -%}
    case
        when {{ list_size(answer_words) }} = 0 or {{ list_size(reference_words) }} = 0 then 0e0
        else {{ f1_of_counts(
            list_size('array_intersect(' ~ answer_words ~ ', ' ~ reference_words ~ ')'),
            list_size('array_distinct(' ~ answer_words ~ ')'),
            list_size('array_distinct(' ~ reference_words ~ ')')
        ) }}
    end
{%- endmacro %}
