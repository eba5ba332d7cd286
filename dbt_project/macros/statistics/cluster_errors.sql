{#- Of each subject the number of clusters and the standard error of its mean difference: that of a
    ratio of two sums over clusters (`cluster_id`). `n_effective` is how many clusters of one size are worth as much. Where each case is one it is that of a mean. Sums that are what the mean makes them differ by 0. -#}
{% macro cluster_errors(pairs, keys, difference='difference') -%}
    select
        {{ keys }},
        count(*) as n_clusters,
        max(n_all) as n_all,
        sqrt(count(*) / nullif(count(*) - 1e0, 0) * {{ exact_sum('residual * residual') }})
        / max(n_all) as standard_error,
        power(max(n_all), 2) / sum(power(n_cases, 2)) as n_effective

    from (
        select
            {{ keys }},
            count(*) as n_cases,
            sum(count(*)) over (partition by {{ keys }}) as n_all,
            round(
                {{ exact_sum(difference) }}
                - sum({{ exact_sum(difference) }}) over (partition by {{ keys }})
                * count(*) / sum(count(*)) over (partition by {{ keys }}),
                9
            ) as residual
        from {{ pairs }}
        where {{ difference }} is not null
        group by {{ keys }}, cluster_id
    ) as residuals
    group by {{ keys }}
{%- endmacro %}
