{#- The score, 0 to 1, that a scoring mode makes of a round's metric; null without a
    metric or without a usable target. An error round that could have been scored gets 0
    whatever the mode: the user got no answer. Not rounded; the marts do that.

    Both arguments are names of relations: one of the scorers' shape (metric, reason), and
    int_dimensions_resolved (scoring_mode, is_share, both limits, target_problem). -#}
{% macro score_of_metric(metrics, dimensions) -%}
    {%- set metric = metrics ~ '.metric' -%}
    {%- set lower = dimensions ~ '.lower_limit' -%}
    {%- set upper = dimensions ~ '.upper_limit' -%}
    case
        when {{ metric }} is null or {{ dimensions }}.target_problem is not null then null
        when {{ metrics }}.reason = 'error_round' then 0.0
        else greatest(0.0, least(1.0, case
            when {{ dimensions }}.scoring_mode = 'range'
                then {{ score_in_range(metric, lower, upper) }}
            when {{ dimensions }}.is_share and {{ dimensions }}.scoring_mode = 'higher_better'
                then {{ metric }}
            when {{ dimensions }}.is_share then 1.0 - {{ metric }}
            when {{ dimensions }}.scoring_mode = 'lower_better'
                then {{ score_up_to(metric, upper) }}
            else {{ score_from(metric, lower) }}
        end))
    end
{%- endmacro %}

{#- 1 at or below a limit, above it the share that the limit is of the metric. -#}
{% macro score_up_to(metric, upper) -%}
    case when {{ metric }} <= {{ upper }} then 1.0 else {{ upper }} / {{ metric }} end
{%- endmacro %}

{#- 1 at or above a limit, below it the share that the metric is of the limit. -#}
{% macro score_from(metric, lower) -%}
    case when {{ metric }} >= {{ lower }} then 1.0 else {{ metric }} / {{ lower }} end
{%- endmacro %}

{#- 1 inside, falling to 0 over the width of the range; with one side that side's ratio. -#}
{% macro score_in_range(metric, lower, upper) -%}
    case
        when {{ lower }} is null then {{ score_up_to(metric, upper) }}
        when {{ upper }} is null then {{ score_from(metric, lower) }}
        when {{ metric }} between {{ lower }} and {{ upper }} then 1.0
        when {{ lower }} = {{ upper }} then 0.0
        else 1.0
            - greatest({{ lower }} - {{ metric }}, {{ metric }} - {{ upper }})
            / ({{ upper }} - {{ lower }})
    end
{%- endmacro %}
