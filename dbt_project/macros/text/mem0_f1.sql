{#- The words that mem0 compares: lower-case, cut at white space and `. , ! ?`. -#}
{% macro mem0_words(text) -%}
    {{ pieces_between_blanks('lower(' ~ text ~ ')', '.,!?' ~ other_spaces()) }}
{%- endmacro %}

{#- F1 of two lists of words as sets, as mem0 publishes it: an empty side is 0, both
    empty too. The words of the reference are each there once. Give it columns; each
    argument is read more than once. -#}
{% macro mem0_f1(answer_words, reference_words) -%}
    case
        when len({{ answer_words }}) = 0 or len({{ reference_words }}) = 0 then 0e0
        else round(
            2e0 * {{ n_found(reference_words, answer_words) }}
            / ({{ n_different(answer_words) }} + len({{ reference_words }})),
            6
        )
    end
{%- endmacro %}
