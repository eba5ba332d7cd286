{{ config(materialized='view') }}

-- One row per task with cases that passed or failed: its size, and how much its cases vary from round to round.
with

results as (
    select * from {{ ref('promptlab', 'int_case_results') }} where status in ('pass', 'fail')
),
tasks as (select * from {{ ref('promptlab', 'dim_tasks') }} where recheck_of is null),
clusters as (select * from {{ ref('promptlab', 'stg_tasks__cases') }}),

cases as (

    select
        tasks.task_id,
        tasks.title,
        tasks.variant,
        tasks.prompt_version,
        results.case_id,
        clusters.cluster_id,
        results.n_rounds,
        -- a round in error gave no answer that could vary
        results.n_rounds_passed + results.n_rounds_failed as n_answers,
        results.n_rounds_passed

    from results
    inner join tasks using (task_id)
    inner join clusters using (task_id, case_id)

),

-- with one round per result, the results of one prompt version are the rounds
repeated as (

    select
        title,
        variant,
        'rounds' as source,
        n_answers as n,
        n_rounds_passed as n_passed

    from cases
    where n_answers > 1

    union all

    select
        title,
        variant,
        'results' as source,
        sum(n_answers) as n,
        sum(n_rounds_passed) as n_passed

    from cases
    group by title, variant, prompt_version, case_id
    having sum(n_answers) > 1

),

variances as (

    select
        title,
        variant,
        coalesce(
            avg(case when source = 'rounds' then n_passed * (n - n_passed) / (n * (n - 1e0)) end),
            avg(n_passed * (n - n_passed) / (n * (n - 1e0)))
        ) as within_variance

    from repeated
    group by title, variant

),

sizes as (

    select
        task_id,
        title,
        variant,
        count(*) as n_cases,
        count(distinct cluster_id) as n_clusters,
        cast(round(avg(n_rounds)) as bigint) as n_rounds

    from cases
    group by task_id, title, variant

),

with_results as (

    select
        *,
        count(*) over (partition by title, variant) as n_results

    from sizes

),

final as (

    select

        ---------- ids
        with_results.task_id,

        ---------- strings
        with_results.title,
        with_results.variant,

        ---------- numerics
        with_results.n_cases,
        case when with_results.n_clusters < with_results.n_cases then with_results.n_clusters end as n_clusters,
        with_results.n_rounds,
        with_results.n_results,
        round(variances.within_variance, 6) as within_variance

    from with_results
    left join variances using (title, variant)

)

select * from final
