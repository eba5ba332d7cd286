{#- The words that mem0 compares: lower-case, cut at white space and `. , ! ?`. -#}
{% macro mem0_words(text) -%}
    {{ pieces_between_blanks(lowered(text), '.,!?' ~ other_spaces()) }}
{%- endmacro %}

{#- F1 of two lists of words as sets, as mem0 publishes it: an empty side is 0, both
    empty too. The words of the reference are each there once. Give it columns; each
    argument is read more than once. -#}
{% macro mem0_f1(answer_words, reference_words) -%}
    case
        when {{ list_size(answer_words) }} = 0 or {{ list_size(reference_words) }} = 0 then 0e0
        else {{ rounded(
            '2e0 * ' ~ n_found(reference_words, answer_words)
            ~ ' / (' ~ n_different(answer_words) ~ ' + ' ~ list_size(reference_words) ~ ')'
        ) }}
    end
{%- endmacro %}
