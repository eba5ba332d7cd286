{#- A bound of the 95 % interval of a pass rate: of `n` cases Wilson's, of clusters (a row of
    `cluster_errors`, null where each case is one) that of a t-test over them. Where all cases pass, or
    none, clusters do not differ: Wilson's, each cluster one answer. Another bound that is the rate
    itself would suggest certainty: null. -#}
{% macro pass_rate_bound(rate, n, clusters, side) -%}
    case
        when {{ clusters }}.n_clusters is null then {{ wilson_bound(rate, n, side) }}
        when {{ clusters }}.standard_error > 0
            then least(1e0, greatest(
                0e0,
                {{ rate }} + {{ side }} * {{ t_quantile('(' ~ clusters ~ '.n_clusters - 1)') }}
                * {{ clusters }}.standard_error
            ))
        when {{ clusters }}.n_clusters > 1 and {{ rate }} in (0, 1)
            then {{ wilson_bound(rate, clusters ~ '.n_effective', side) }}
    end
{%- endmacro %}
