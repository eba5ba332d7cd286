{#- The hash of the whole answer of a row of fct_rounds, which has its first 2,000 characters, and the
    hash of a longer one. *rounds* is the name of the relation. -#}
{% macro whole_answer_hash(rounds) -%}
    coalesce({{ rounds }}.answer_hash, md5({{ rounds }}.answer))
{%- endmacro %}
