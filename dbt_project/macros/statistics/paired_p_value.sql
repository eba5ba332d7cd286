{#- The p-value of a paired t-test, two-sided; `t` is null where the pairs have no spread. -#}
{% macro paired_p_value(t, df, n_changed) -%}
    case
        when {{ t }} is not null then {{ t_p_value(t, df) }}
        when {{ n_changed }} = 0 then 1
        -- all changed by the same amount: as likely as n tosses of a coin that all fall alike
        else power(2e0, -{{ df }})
    end
{%- endmacro %}
