{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per task, tag and measure: the mean score or the pass rate of the cases with the tag, its
-- interval and their number. fct_trends follows it from run to run.
with

tags as (select * from {{ ref('promptlab', 'int_case_tags') }} where {{ in_this_build() }}),
results as (select * from {{ ref('promptlab', 'int_case_results') }} where {{ in_this_build() }}),
cases as (select * from {{ ref('promptlab', 'stg_tasks__cases') }} where {{ in_this_build() }}),
measures as (select * from {{ ref('promptlab', 'promptlab_trend_measures') }} where subject_kind = 'tag'),

tagged as (

    select
        tags.task_id,
        tags.tag,
        cases.cluster_id,
        results.aggregated_score,
        case results.status when 'pass' then 1e0 when 'unevaluated' then null else 0e0 end
            as is_pass

    from tags
    inner join results using (task_id, case_id)
    inner join cases using (task_id, case_id)

),

clusters as (

    {{ cluster_errors('tagged', 'task_id, tag', 'is_pass') | indent(4) }}
    having count(*) < max(n_all)

),

tallied as (

    select
        task_id,
        tag,
        {{ exact_mean('aggregated_score') }} as mean,
        count(aggregated_score) as n_scored,
        sum(is_pass) as n_pass,
        count(is_pass) as n_judged

    from tagged
    group by task_id, tag

),

rated as (

    select
        *,
        n_pass / nullif(n_judged, 0) as pass_rate

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
                then {{ pass_rate_bound('rated.pass_rate', 'rated.n_judged', 'clusters', -1) }}
        end as ci_low,
        case
            when measures.measure = 'tag_pass_rate' and rated.n_judged > 0
                then {{ pass_rate_bound('rated.pass_rate', 'rated.n_judged', 'clusters', 1) }}
        end as ci_high,
        case measures.measure
            when 'tag_score' then rated.n_scored
            when 'tag_pass_rate' then rated.n_judged
        end as n

    from rated
    cross join measures
    left join clusters on rated.task_id = clusters.task_id and rated.tag = clusters.tag

)

select * from numbers
