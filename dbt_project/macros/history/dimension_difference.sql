{#- Why two rows of int_dimension_contents do not judge alike; null where they do. -#}
{% macro dimension_difference(of_candidate, of_baseline) -%}
    case
        when {{ of_candidate }}.scorer <> {{ of_baseline }}.scorer then 'scorer_differs'
        -- without a judge there is no score, which is another gap
        when {{ of_candidate }}.judges <> {{ of_baseline }}.judges then 'judge_differs'
        when {{ of_candidate }}.scoring_mode <> {{ of_baseline }}.scoring_mode
            then 'scoring_mode_differs'
        when {{ of_candidate }}.parameters_text <> {{ of_baseline }}.parameters_text
            then 'parameters_differ'
        -- the limits of a share only raise alerts, those of a number make its score
        when
            not {{ of_candidate }}.is_share and (
                {{ of_candidate }}.lower_limit is distinct from {{ of_baseline }}.lower_limit
                or {{ of_candidate }}.upper_limit is distinct from {{ of_baseline }}.upper_limit
            )
            then 'target_differs'
    end
{%- endmacro %}
