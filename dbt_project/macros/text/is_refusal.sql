{#- 1 where an answer says that the conversation does not tell, by the two phrases that
    LoCoMo's published score looks for; else 0, and 0 for no answer. -#}
{% macro is_refusal(answer) -%}
    case
        when contains(lower({{ answer }}), 'no information available') then 1e0
        when contains(lower({{ answer }}), 'not mentioned') then 1e0
        else 0e0
    end
{%- endmacro %}
