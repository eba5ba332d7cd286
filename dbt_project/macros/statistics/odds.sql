{#- ln of the beta function of two numbers. -#}
{% macro ln_beta(a, b) -%}
    (lgamma({{ a }}) + lgamma({{ b }}) - lgamma({{ a }} + {{ b }}))
{%- endmacro %}

{#- ln of the likelihood of x passes of n rounds whose pass rate has the prior Beta(a, b); the
    binomial coefficient is left out, as it is the same for every prior. -#}
{% macro ln_likelihood(a, b, x, n) -%}
    {{ ln_beta(a ~ ' + ' ~ x, b ~ ' + ' ~ n ~ ' - ' ~ x) }} - {{ ln_beta(a, b) }}
{%- endmacro %}

{#- Of x passes of n rounds of a case that broke: it passes one round in ten. -#}
{% macro ln_likelihood_if_broken(x, n) -%}
    {{ ln_likelihood('0.5e0', '4.5e0', x, n) }}
{%- endmacro %}

{#- Columns: ln of weight times likelihood of each kind of case. The weights and the failure rate
    are columns of `priors`. A stable case fails at that rate, known as well as from 200 rounds; a
    flaky one may pass any share, rather more than half; a failing one passes one round in 31. -#}
{% macro ln_likelihoods_by_kind(x, n) -%}
    ln(priors.stable)
        + {{ ln_likelihood('200e0 * (1e0 - priors.failure_rate)', '200e0 * priors.failure_rate', x, n) }}
            as ln_stable,
        ln(priors.flaky) + {{ ln_likelihood('2e0', '1e0', x, n) }} as ln_flaky,
        ln(priors.failing) + {{ ln_likelihood('1e0', '30e0', x, n) }} as ln_failing
{%- endmacro %}

{#- ln of the sum of those columns; each may be far below the smallest double. -#}
{% macro ln_sum_of_kinds() -%}
    greatest(ln_stable, ln_flaky, ln_failing) + ln(
        exp(ln_stable - greatest(ln_stable, ln_flaky, ln_failing))
        + exp(ln_flaky - greatest(ln_stable, ln_flaky, ln_failing))
        + exp(ln_failing - greatest(ln_stable, ln_flaky, ln_failing))
    )
{%- endmacro %}

{#- The ratio of its ln, which is capped; 0 without one (`least` of DuckDB leaves nulls out). -#}
{% macro likelihood_ratio(log_evidence) -%}
    case when {{ log_evidence }} is null then 0e0 else exp(greatest(-50, least(100, {{ log_evidence }}))) end
{%- endmacro %}

{#- The odds that any of several cases broke, from the sums of their odds and of ln(1 + odds). With
    few earlier runs, whose evidence is weak, it is the sum of the odds, else exact for independent
    cases; null without an earlier run, 0 of no case. 300 keeps it a double. -#}
{% macro odds_of_any(n_earlier, few_runs, sum_of_odds, sum_of_logs) -%}
    case
        when {{ n_earlier }} = 0 then null
        when {{ n_earlier }} <= {{ few_runs }} then coalesce({{ sum_of_odds }}, 0)
        -- `least` of DuckDB leaves nulls out: first the sum of no case
        else {{ exp_minus_one('least(coalesce(' ~ sum_of_logs ~ ', 0), 300)') }}
    end
{%- endmacro %}

{#- ln(1 + x), exact for small x too. -#}
{% macro ln_of_one_plus(x) -%}
    case when {{ x }} < 1e-8 then {{ x }} else ln(1 + {{ x }}) end
{%- endmacro %}

{#- exp(x) - 1, exact for small x too. -#}
{% macro exp_minus_one(x) -%}
    case when {{ x }} < 1e-8 then {{ x }} else exp({{ x }}) - 1 end
{%- endmacro %}

{#- Chance of a t as low as this one; `t` and `df` are columns. -#}
{% macro t_lower_tail(t, df) -%}
    case
        when {{ t }} < 0 then ({{ t_p_value(t, df) }}) / 2
        else 1 - ({{ t_p_value(t, df) }}) / 2
    end
{%- endmacro %}
