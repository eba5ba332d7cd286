{#- Chance that of k rounds drawn from n at least one is among the c good ones:
    1 - C(n - c, k) / C(n, k); null where k > n. -#}
{% macro pass_at_k(n, c, k) -%}
    case
        when {{ k }} > {{ n }} then null
        when {{ n }} - {{ c }} < {{ k }} then 1.0
        else 1.0 - {{ share_of_draws(n ~ ' - ' ~ c, n, k) }}
    end
{%- endmacro %}

{#- Chance that all k rounds drawn from n are good: C(c, k) / C(n, k); null where k > n. -#}
{% macro pass_hat_k(n, c, k) -%}
    case
        when {{ k }} > {{ n }} then null
        when {{ c }} < {{ k }} then 0.0
        else {{ share_of_draws(c, n, k) }}
    end
{%- endmacro %}

{#- C(m, k) / C(n, k). -#}
{% macro share_of_draws(m, n, k) -%}
    exp(
        lgamma(({{ m }}) + 1) - lgamma(({{ m }} - {{ k }}) + 1)
        - lgamma(({{ n }}) + 1) + lgamma(({{ n }} - {{ k }}) + 1)
    )
{%- endmacro %}
