{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

with

tags as (select * from {{ ref('int_case_tags') }} where {{ in_this_build() }}),
results as (select * from {{ ref('int_case_results') }} where {{ in_this_build() }}),
measures as (select * from {{ ref('trend_measures') }} where subject_kind = 'tag'),

tallied as (

    select
        tags.task_id,
        tags.tag,
        {{ exact_mean('results.aggregated_score') }} as mean,
        count(results.aggregated_score) as n_scored,
        count(*) filter (where results.status = 'pass') as n_pass,
        count(*) filter (where results.status <> 'unevaluated') as n_judged

    from tags
    inner join results using (task_id, case_id)
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

        ---------- ids
        rated.task_id,

        ---------- strings
        rated.tag,
        measures.measure,

        ---------- numerics
        case measures.measure
            when 'tag_score' then rated.mean
            when 'tag_pass_rate' then rated.pass_rate
        end as value,
        case
            when measures.measure = 'tag_pass_rate' and rated.n_judged > 0
                then {{ wilson_bound('rated.pass_rate', 'rated.n_judged', -1) }}
        end as ci_low,
        case
            when measures.measure = 'tag_pass_rate' and rated.n_judged > 0
                then {{ wilson_bound('rated.pass_rate', 'rated.n_judged', 1) }}
        end as ci_high,
        case measures.measure
            when 'tag_score' then rated.n_scored
            when 'tag_pass_rate' then rated.n_judged
        end as n

    from rated
    cross join measures

)

select * from numbers
