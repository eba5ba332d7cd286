with

totals as (
    select * from {{ ref('stg_reported__totals') }}
    where {{ in_this_build() }} and total_rule like '%_over_cases'
),
scores as (
    select * from {{ ref('stg_reported__scores') }}
    where {{ in_this_build() }} and reported_value is not null
),

reducers as (

    select distinct
        task_id,
        dimension_id,
        coalesce({{ json_text('parameters', 'reducer') }}, 'mean') as reducer

    from totals

),

cases as (

    select
        reducers.task_id,
        reducers.dimension_id,
        reducers.reducer,
        scores.case_id,
        case
            when reducers.reducer = 'mean' then avg(scores.reported_value)
            when reducers.reducer = 'median' then median(scores.reported_value)
            when reducers.reducer = 'mode' then mode(scores.reported_value)
            when reducers.reducer = 'max' then max(scores.reported_value)
            when reducers.reducer like 'at_least_%'
                then case
                    when
                        count(case when scores.reported_value >= 1 then 1 end)
                        >= cast(replace(reducers.reducer, 'at_least_', '') as int)
                        then 1.0
                    else 0.0
                end
        end as case_value

    from reducers
    inner join scores
        on
            reducers.task_id = scores.task_id
            and reducers.dimension_id = scores.dimension_id
    group by reducers.task_id, reducers.dimension_id, reducers.reducer, scores.case_id

),

summed as (

    select
        task_id,
        dimension_id,
        reducer,
        count(case_value) as n_cases,
        avg(case_value) as mean_value,
        -- of a single case, which tools call 0
        case when count(case_value) = 1 then 0 else stddev_samp(case_value) end as sd_value

    from cases
    group by task_id, dimension_id, reducer

)

select * from summed
