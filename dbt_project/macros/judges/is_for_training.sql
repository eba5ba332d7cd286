{#- From the split of a label: true where the answer stands in the judge's own prompt (`train`), so that
    it proves nothing about the judge. -#}
{% macro is_for_training(split_name) -%}
    coalesce({{ split_name }}, '') = 'train'
{%- endmacro %}
