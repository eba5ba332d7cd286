{{ config(unique_key='candidate_task_id', meta={'batch': 'comparisons'}) }}

{%- set family = 'baseline_task_id, candidate_task_id' %}
{%- set subject = family ~ ', dimension_id' %}

-- One row per compared pair of tasks and number of another tool that at least one of the two does not grade, such as a
-- perplexity: whether it changed by more than chance.
with

changes as (select * from {{ ref('promptlab', 'int_measure_changes') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_comparison_policy') }}),
cases as (
    select * from {{ ref('promptlab', 'stg_tasks__cases') }}
    where task_id in (select changes.candidate_task_id from changes)
),

-- in shares of the largest, as numbers of any size are compared
paired as (

    select
        changes.*,
        cases.cluster_id,
        changes.delta
        / nullif(max(abs(changes.delta)) over (partition by {{ subject }}), 0) as share

    from changes
    inner join cases
        on changes.candidate_task_id = cases.task_id and changes.case_id = cases.case_id

),

errors as (

    {{ cluster_errors('paired', subject, 'share') | indent(4) }}

),

summed as (

    select
        baseline_task_id,
        candidate_task_id,
        dimension_id,
        name,
        direction,
        count(*) as n_pairs,
        count(*) filter (where delta > 0) as n_higher,
        count(*) filter (where delta < 0) as n_lower,
        count(*) filter (where delta = 0) as n_same,
        avg(baseline_value) as baseline_value,
        avg(candidate_value) as candidate_value,
        avg(delta) as mean_delta,
        max(abs(delta)) as largest

    from changes
    group by baseline_task_id, candidate_task_id, dimension_id, name, direction

),

measured as (

    select
        summed.*,
        errors.n_clusters,
        -- 0 if the differences of all pairs are equal: t is undefined
        nullif(errors.standard_error, 0) * summed.largest as standard_error

    from summed
    left join errors using ({{ subject }})

),

tested as (

    select
        *,
        n_clusters - 1 as n_free,
        mean_delta / standard_error as t,
        {{ t_quantile('(n_clusters - 1)') }} * standard_error as half_width,
        {{ paired_p_value('t', 'n_free', 'n_higher + n_lower') }} as p_value

    from measured

),

ranked as (

    select
        *,
        row_number() over (partition by {{ family }} order by p_value nulls last) as p_rank,
        count(p_value) over (partition by {{ family }}) as n_tests

    from tested

),

adjusted as (

    select
        ranked.*,
        {{ bh_adjusted(family) }} as p_adjusted

    from ranked

),

final as (

    select

        ---------- ids
        adjusted.baseline_task_id,
        adjusted.candidate_task_id,
        adjusted.dimension_id,

        ---------- strings
        adjusted.name,
        adjusted.direction,
        case
            when adjusted.n_higher + adjusted.n_lower = 0 then 'same'
            when adjusted.n_clusters < policy.min_pairs or adjusted.p_adjusted > policy.max_p
                then 'inconclusive'
            when adjusted.direction is null
                then case when adjusted.mean_delta > 0 then 'higher' else 'lower' end
            when (adjusted.direction = 'higher_better') = (adjusted.mean_delta > 0)
                then 'improved'
            else 'regressed'
        end as verdict,

        ---------- numerics
        adjusted.n_pairs,
        case when adjusted.n_clusters < adjusted.n_pairs then adjusted.n_clusters end
            as n_clusters,
        adjusted.n_higher,
        adjusted.n_lower,
        adjusted.n_same,
        adjusted.baseline_value,
        adjusted.candidate_value,
        adjusted.mean_delta as delta,
        adjusted.mean_delta - adjusted.half_width as ci_low,
        adjusted.mean_delta + adjusted.half_width as ci_high,
        adjusted.p_value,
        adjusted.p_adjusted

    from adjusted
    cross join policy

)

select * from final
