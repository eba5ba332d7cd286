with

scores as (select * from {{ ref('promptlab', 'stg_reported__scores') }} where {{ in_this_build() }}),

checks as (select * from {{ ref('promptlab', 'stg_reported__checks') }} where {{ in_this_build() }}),

counted_checks as (

    select
        task_id,
        check_name as dimension_id,
        count(case when status = 'pass' then 1 end) as n_checks_passed,
        count(case when status = 'fail' then 1 end) as n_checks_failed,
        count(case when status = 'unevaluated' then 1 end) as n_checks_unevaluated

    from checks
    group by task_id, check_name

),

summed_scores as (

    select
        task_id,
        dimension_id,
        count(reported_value) as n_values,
        {{ sum_in_order('reported_value * coalesce(weight, 1)') }} as weighted_sum,
        cast(sum(coalesce(weight, n_checks)) as double) as sum_weights,
        cast(sum(n_checks) as double) as sum_checks

    from scores
    group by task_id, dimension_id

),

summed as (

    select
        summed_scores.*,
        coalesce(counted_checks.n_checks_passed, 0) as n_checks_passed,
        coalesce(counted_checks.n_checks_failed, 0) as n_checks_failed,
        cast(counted_checks.n_checks_passed + counted_checks.n_checks_failed as double)
            as n_checks_judged,
        coalesce(counted_checks.n_checks_unevaluated, 0) as n_checks_unevaluated

    from summed_scores
    left join counted_checks using (task_id, dimension_id)

)

select * from summed
