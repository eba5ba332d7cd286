with

scores as (select * from {{ ref('stg_reported__scores') }} where {{ in_this_build() }}),

summed as (

    select
        task_id,
        dimension_id,
        count(reported_value) as n_values,
        sum(reported_value * coalesce(weight, 1)) as weighted_sum,
        cast(sum(coalesce(weight, n_checks)) as double) as sum_weights,
        cast(sum(n_checks) as double) as sum_checks,
        avg(reported_value) as mean_value

    from scores
    group by task_id, dimension_id

)

select * from summed
