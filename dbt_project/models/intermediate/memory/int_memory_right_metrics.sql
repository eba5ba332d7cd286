{{ config(materialized='incremental', unique_key='run_id', meta={'batch': 'memory_runs'}) }}

with

answers as (
    select * from {{ ref('promptlab', 'stg_memory__answers') }}
    where {{ in_this_build('memory_runs') }}
),

final as (

    select

        ---------- ids
        run_id,

        ---------- strings
        case
            when '{{ var("memory_right_metric", "auto") }}' <> 'auto'
                then '{{ var("memory_right_metric", "auto") }}'
            when count(*) filter (where category in ('1', '2', '3', '4', '5')) > 0
                then 'locomo_f1'
            else 'token_f1'
        end as right_metric,

        ---------- numerics
        cast({{ var('memory_right_threshold', 0.5) }} as double) as right_threshold

    from answers
    group by run_id

)

select * from final
