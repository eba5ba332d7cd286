{#- F1 of two lists of tokens as multisets, 0 to 1: both empty 1, one empty 0, a null list
    null. Rounded: the score stands as it is.

    Give it columns, not expressions: each argument is read more than once.

        with tokenised as (
            select id, {{ tokens('answer') }} as answer_tokens, {{ tokens('golden') }} as golden_tokens
        )
        select id, {{ token_f1('answer_tokens', 'golden_tokens') }} as token_f1 from tokenised

    `character_tokens` in place of `tokens` makes it the F1 of characters. -#}
{% macro token_f1(left_tokens, right_tokens) -%}
    {{ f1_of_counts(
        multiset_overlap(left_tokens, right_tokens),
        'len(' ~ left_tokens ~ ')',
        'len(' ~ right_tokens ~ ')'
    ) }}
{%- endmacro %}

{#- F1 from counts: what is shared, and the sizes of both sides. -#}
{% macro f1_of_counts(shared, left_size, right_size) -%}
    case
        when {{ left_size }} + {{ right_size }} = 0 then 1e0
        when {{ left_size }} = 0 or {{ right_size }} = 0 then 0e0
        else round(2e0 * {{ shared }} / ({{ left_size }} + {{ right_size }}), 6)
    end
{%- endmacro %}
