-- The numbers of a task's cases with one tag, one row per task, tag and measure.
with

tags as (

    select * from {{ ref('dim_case_tags') }}

),

results as (

    select * from {{ ref('fct_case_results') }}

),

tallied as (

    select
        tags.task_id,
        tags.tag,
        {{ exact_mean('results.aggregated_score') }} as mean,
        count(results.aggregated_score) as n_scored,
        count(*) filter (where results.status = 'pass') as n_pass,
        count(*) filter (where results.status <> 'unevaluated') as n_judged

    from tags
    inner join results on tags.task_id = results.task_id and tags.case_id = results.case_id
    group by tags.task_id, tags.tag

),

rated as (

    select
        *,
        cast(n_pass as double) / nullif(n_judged, 0) as pass_rate

    from tallied

),

numbers as (

    select
        task_id, tag, 'tag_score' as measure, mean as value,
        cast(null as double) as ci_low, cast(null as double) as ci_high, n_scored as n
    from rated

    union all

    select
        task_id, tag, 'tag_pass_rate' as measure, pass_rate as value,
        case when n_judged > 0 then {{ wilson_bound('pass_rate', 'n_judged', -1) }} end as ci_low,
        case when n_judged > 0 then {{ wilson_bound('pass_rate', 'n_judged', 1) }} end as ci_high,
        n_judged as n
    from rated

)

select * from numbers
