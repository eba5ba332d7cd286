{{ config(materialized='incremental', unique_key='run_id', meta={'batch': 'memory_runs'}) }}

-- One row per memory run: the metric and the threshold that make an answer right, from [memory] in promptlab.toml,
-- else by its language and categories; and the metric whose mean is the score of the run.
with

answers as (
    select * from {{ ref('promptlab', 'stg_memory__answers') }}
    where {{ in_this_build('memory_runs') }}
),
settings as (select * from {{ ref('promptlab', 'stg_builds__settings') }} where setting = 'memory'),

chosen as (

    select
        max(case when setting_name = 'right_metric' then setting_value end) as right_metric,
        max(case when setting_name = 'right_threshold' then cast(setting_value as double) end)
            as right_threshold

    from settings

),

run_kinds as (

    select
        run_id,
        -- LoCoMo numbers its five categories, other data sets name theirs
        count(*) filter (where category in ('1', '2', '3', '4', '5')) > 0 as is_locomo,
        2 * count(*) filter (where is_chinese_question) > count(*) as is_chinese_run

    from answers
    group by run_id

),

decided as (

    select
        run_kinds.run_id,
        run_kinds.is_chinese_run,
        coalesce(chosen.right_threshold, 0.5) as right_threshold,
        case
            when run_kinds.is_chinese_run then coalesce(chosen.right_metric, 'chinese_match')
            when chosen.right_metric not in {{ chinese_metrics() }} then chosen.right_metric
            when run_kinds.is_locomo then 'locomo_f1'
            else 'token_f1'
        end as right_metric

    from run_kinds
    cross join chosen

),

final as (

    select

        ---------- ids
        run_id,

        ---------- strings
        right_metric,
        -- a mean over the decided answers alone would be no score of the run
        case when right_metric = 'chinese_match' then 'cmrc_f1' else right_metric end
            as score_metric,

        ---------- numerics
        cast(right_threshold as double) as right_threshold,

        ---------- booleans
        is_chinese_run

    from decided

)

select * from final
