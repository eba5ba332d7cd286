with

rounds as (select * from {{ ref('promptlab', 'int_verdict_rounds') }} where place > 0 and n_rounds > 1),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

-- of one prompt version: another one is another system
spread as (

    select
        task_id,
        case_id,
        prompt_version,
        count(*) as n_runs,
        sum(n_rounds) as n,
        sum(n_passed) as s,
        {{ exact_sum(
            'n_passed * (n_rounds - n_passed) / cast(n_rounds * (n_rounds - 1) as double)'
        ) }} as variance_within

    from rounds
    group by task_id, case_id, prompt_version
    having count(*) > 1

),

summed as (

    select
        task_id,
        max(n_runs) as n_runs,
        {{ exact_sum('variance_within') }} as variance_within,
        {{ exact_sum('n_runs * s * (n - s) / cast(n * (n - 1) as double)') }} as variance_in_all

    from spread
    group by task_id

),

correlations as (

    select

        ---------- ids
        summed.task_id,

        ---------- numerics
        {{ rounded('1 - summed.variance_within / summed.variance_in_all') }} as correlation,

        ---------- booleans
        correlation > case
            when summed.n_runs < policy.min_runs_shift then policy.max_correlation_of_few
            else policy.max_correlation
        end as is_correlated

    from summed
    cross join policy
    where summed.n_runs >= policy.min_runs_correlation and summed.variance_in_all > 0

)

select * from correlations
